"""Every table of the study, from one corpus."""

from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.reporting.tables import Table
from pytest_tutoreval.reporting.tables_instrument import instrument_tables
from pytest_tutoreval.reporting.tables_results import result_tables
from pytest_tutoreval.reporting.tables_source import StudyResults

__all__ = ["study_tables"]


def study_tables(measures: CorpusMeasures) -> list[Table]:
    """Return Tables 1 to 6 in the study's order; Table 1 once more for every judge beside the primary one."""
    results = StudyResults(measures)
    return [*result_tables(results), *instrument_tables(results)]
