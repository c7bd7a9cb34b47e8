"""The frozen instrument as records, hashes and constraints checked; a user's study laid over it, locked and linted."""

from pytest_tutoreval.frozen.conditions import PACKAGE_CONDITIONS, REGISTERED_CONDITIONS, registered_conditions
from pytest_tutoreval.frozen.constraints import check_constraints
from pytest_tutoreval.frozen.extension import extend_instrument, read_study_file
from pytest_tutoreval.frozen.instrument import Instrument, OwnPolicy, RouterRules, load_instrument, read_instrument
from pytest_tutoreval.frozen.lint import Finding, lint_problems
from pytest_tutoreval.frozen.manifest import instrument_digest, text_digest, verify_files, write_manifest
from pytest_tutoreval.frozen.opening import OpenedStudy, find_study, open_study
from pytest_tutoreval.frozen.user_code import load_function, module_file

__all__ = [
    "PACKAGE_CONDITIONS",
    "REGISTERED_CONDITIONS",
    "Finding",
    "Instrument",
    "OpenedStudy",
    "OwnPolicy",
    "RouterRules",
    "check_constraints",
    "extend_instrument",
    "find_study",
    "instrument_digest",
    "lint_problems",
    "load_function",
    "load_instrument",
    "module_file",
    "open_study",
    "read_instrument",
    "read_study_file",
    "registered_conditions",
    "text_digest",
    "verify_files",
    "write_manifest",
]
