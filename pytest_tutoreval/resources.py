"""Where the data folders are: inside the package in a wheel, beside it in a checkout."""

from pathlib import Path

from pytest_tutoreval.errors import ResourceMissing

__all__ = ["data_folder"]

_PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """Return the folder `name` (`instrument`, `fixtures`, `suites`, `examples/own_tutor`, `reports/reference`).

    Raises
    ------
    ResourceMissing
        Neither place has it; the message names both.
    """
    places = [_PACKAGE / name, _PACKAGE.parent / name]
    for place in places:
        if place.is_dir():
            return place
    looked = " and ".join(str(place) for place in places)
    raise ResourceMissing(f"{name}: no such data folder (looked in {looked}); reinstall pytest-tutoreval")
