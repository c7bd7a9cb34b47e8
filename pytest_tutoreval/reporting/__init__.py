"""One document model and its renderers."""

from pytest_tutoreval.reporting.document import FORMAT, build_document
from pytest_tutoreval.reporting.outputs import RENDERERS, OutputSet, Renderer, register_renderer, write_outputs
from pytest_tutoreval.reporting.run import GateReport, RunRecord
from pytest_tutoreval.reporting.terminal import MARKUP, Line, claims_section

__all__ = [
    "FORMAT",
    "MARKUP",
    "RENDERERS",
    "GateReport",
    "Line",
    "OutputSet",
    "Renderer",
    "RunRecord",
    "build_document",
    "claims_section",
    "register_renderer",
    "write_outputs",
]
