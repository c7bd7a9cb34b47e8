"""Pre-registered claims about LLM tutors, decided by pytest.

The package is read bottom to top: records, detectors and transcripts turn text into facts, measures turn facts
into numbers, inference turns numbers into tests, claims turn tests into verdicts. `plugin` is the only module
that knows pytest.
"""

__version__ = "0.1.0"
