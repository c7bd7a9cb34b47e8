"""The registered claims and the instrument's constraints, as tests."""
