"""Python of the user's own: found beside the study file, and imported from there alone."""

import sys
from pathlib import Path

import pytest

from pytest_tutoreval.errors import InstrumentError
from pytest_tutoreval.frozen import load_function, module_file


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_module_beside_the_study_file_is_loaded(tmp_path: Path) -> None:
    write(tmp_path, "beside_the_study.py", "def speak():\n    return 'hm'\n")
    assert load_function("beside_the_study:speak", tmp_path)() == "hm"


def test_a_module_of_a_package_beside_it_is_loaded(tmp_path: Path) -> None:
    write(tmp_path, "pkg_beside/__init__.py", "")
    write(tmp_path, "pkg_beside/inner.py", "def speak():\n    return 'ha'\n")
    assert load_function("pkg_beside.inner:speak", tmp_path)() == "ha"


def test_it_may_import_what_is_beside_it_and_the_path_is_as_before(tmp_path: Path) -> None:
    write(tmp_path, "helper_beside.py", "WORD = 'ho'\n")
    write(tmp_path, "uses_helper.py", "from helper_beside import WORD\n\ndef speak():\n    return WORD\n")
    before = list(sys.path)
    assert load_function("uses_helper:speak", tmp_path)() == "ho"
    assert sys.path == before


def test_finding_a_module_does_not_run_it(tmp_path: Path) -> None:
    path = write(tmp_path, "never_run.py", "raise RuntimeError\n")
    assert module_file("never_run:speak", tmp_path) == path
    assert "never_run" not in sys.modules


def test_a_module_that_is_nowhere_is_said_with_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(
        InstrumentError, match=r"no module no_such_thing with a source file.*no_such_thing\.py beside"
    ) as raised:
        module_file("no_such_thing:speak", tmp_path)
    assert str(tmp_path) in str(raised.value)


def test_a_module_that_fails_to_import_is_said_with_its_error(tmp_path: Path) -> None:
    write(tmp_path, "breaks_on_import.py", "raise RuntimeError('no luck')\n")
    with pytest.raises(InstrumentError, match=r"importing .*breaks_on_import\.py failed: RuntimeError: no luck"):
        load_function("breaks_on_import:speak", tmp_path)
    assert str(tmp_path) not in sys.path


def test_a_function_that_is_not_there_is_said(tmp_path: Path) -> None:
    write(tmp_path, "without_function.py", "speak = 3\n")
    with pytest.raises(InstrumentError, match="has no function 'speak'"):
        load_function("without_function:speak", tmp_path)


def test_a_module_of_the_same_name_from_elsewhere_is_never_taken_for_it(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write(tmp_path / folder, "twice_there.py", f"def speak():\n    return {folder!r}\n")
    assert load_function("twice_there:speak", tmp_path / "one")() == "one"
    with pytest.raises(InstrumentError, match=r"a module of that name was imported before\. Rename yours"):
        load_function("twice_there:speak", tmp_path / "two")


def test_a_package_that_breaks_while_a_module_is_looked_for_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find `package.module` on Python's own path, the package is run."""
    write(tmp_path / "elsewhere", "broken_package/__init__.py", "raise RuntimeError('no luck')\n")
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    with pytest.raises(InstrumentError, match=r"module broken_package\.inner cannot be found: RuntimeError: no luck"):
        module_file("broken_package.inner:speak", tmp_path)
