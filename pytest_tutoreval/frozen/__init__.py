"""The frozen instrument as records, hashes and constraints checked."""

from pytest_tutoreval.frozen.constraints import check_constraints
from pytest_tutoreval.frozen.extension import extend_instrument, read_study_file
from pytest_tutoreval.frozen.instrument import Instrument, RouterRules, load_instrument, read_instrument
from pytest_tutoreval.frozen.manifest import instrument_digest, text_digest, verify_files, write_manifest

__all__ = [
    "Instrument",
    "RouterRules",
    "check_constraints",
    "extend_instrument",
    "instrument_digest",
    "load_instrument",
    "read_instrument",
    "read_study_file",
    "text_digest",
    "verify_files",
    "write_manifest",
]
