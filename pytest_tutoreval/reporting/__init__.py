"""One document model and its renderers."""

from pytest_tutoreval.reporting.document import FORMAT, build_document, write_document
from pytest_tutoreval.reporting.run import RunRecord
from pytest_tutoreval.reporting.terminal import MARKUP, Line, claims_section

__all__ = ["FORMAT", "MARKUP", "Line", "RunRecord", "build_document", "claims_section", "write_document"]
