"""Pre-registered claims about LLM tutors, decided by pytest.

The package is read bottom to top: records, detectors and transcripts turn text into facts, measures turn facts
into numbers, inference turns numbers into tests, claims turn tests into verdicts. `plugin` is the only module
that knows pytest.
"""

from typing import TYPE_CHECKING

__all__ = ["__version__", "hookimpl"]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pluggy import HookimplMarker

    hookimpl = HookimplMarker("tutoreval")
else:

    def __getattr__(name: str) -> object:
        """Return `hookimpl`, which marks what a package registers: made when asked for, as few ever ask."""
        if name != "hookimpl":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from pluggy import HookimplMarker

        return globals().setdefault(name, HookimplMarker("tutoreval"))
