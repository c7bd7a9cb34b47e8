"""`python -m pytest_tutoreval.frozen` freezes the bundled instrument anew: a deliberate act, with its own digest."""

from pytest_tutoreval.frozen.instrument import read_instrument
from pytest_tutoreval.frozen.manifest import write_manifest
from pytest_tutoreval.resources import data_folder

folder = data_folder("instrument")
write_manifest(folder)
print(f"instrument {read_instrument(folder).sha256}")
