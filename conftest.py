"""Pytest in pytest, for the tests of the plugin."""

pytest_plugins = ["pytester"]
