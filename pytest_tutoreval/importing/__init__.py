"""Foreign formats as corpora."""

from pytest_tutoreval.importing.released_calls import import_released_calls, read_session_folder
from pytest_tutoreval.importing.released_tables import import_released_tables

__all__ = ["import_released_calls", "import_released_tables", "read_session_folder"]
