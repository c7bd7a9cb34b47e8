"""The example of a study of one's own, as `tutoreval init` writes it."""

from pathlib import Path

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.resources import data_folder

__all__ = ["write_example"]

EXAMPLE = "examples/own_tutor"

# What running the example leaves behind in a checkout is no part of it.
_LEFT_BEHIND = ("__pycache__", ".pytest_cache", "corpora", "reports")


def write_example(folder: Path) -> list[Path]:
    """Write the example into a folder, which is made if need be, and return the paths of its files.

    Raises
    ------
    ConfigurationProblem
        One of its files is there already, all of them named, or cannot be written. Nothing is overwritten.
    """
    source = data_folder(EXAMPLE)
    files = sorted(
        path.relative_to(source)
        for path in source.rglob("*")
        if path.is_file() and not set(_LEFT_BEHIND) & set(path.relative_to(source).parts)
    )
    if there := [str(name) for name in files if (folder / name).exists()]:
        raise ConfigurationProblem(
            f"{folder}: {', '.join(there)} is there already, and nothing is overwritten; give an empty folder: "
            "tutoreval init DIR"
        )
    try:
        for name in files:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write((source / name).read_bytes())
    except OSError as exc:
        raise ConfigurationProblem(f"{folder}: cannot be written: {exc}; give a folder you may write to") from exc
    return [folder / name for name in files]
