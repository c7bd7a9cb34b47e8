"""The lock: every file of a study by its bytes, verified when the study is opened, changed by amendment alone."""

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_tutoreval.errors import InstrumentError, StudyChanged
from pytest_tutoreval.frozen import load_instrument, open_study, read_study_file
from pytest_tutoreval.frozen.lock import CORE, amend_lock, lock_path, read_lock, verify_lock, write_lock
from pytest_tutoreval.frozen.manifest import file_sha256
from pytest_tutoreval.records.lock import StudyLock
from tests.studies.writing import write_study

CORE_DIGEST = load_instrument().sha256
TODAY = datetime.date(2026, 12, 1)
LATER = datetime.date(2026, 12, 24)
LOCKED = ["claims/X1.toml", "own_policy.py", "prompts/spoken.txt", "tutoreval.toml"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study that is locked."""
    path = write_study(tmp_path)
    lock(path)
    return path


def lock(study: Path, *, core: str = CORE_DIGEST) -> StudyLock:
    return write_lock(study, read_study_file(study), core=core, today=TODAY)


def verify(study: Path, *, core: str = CORE_DIGEST) -> StudyLock | None:
    return verify_lock(study, read_study_file(study), core=core)


def amend(study: Path, reason: str = "a typo") -> StudyLock:
    return amend_lock(study, read_study_file(study), core=CORE_DIGEST, reason=reason, today=LATER)


def test_a_lock_holds_the_digest_of_every_file_and_of_the_core(study: Path) -> None:
    written = read_lock(study)
    assert written is not None
    assert (written.date, written.instrument) == ("2026-12-01", CORE_DIGEST)
    assert written.files == {name: file_sha256(study.parent / name) for name in LOCKED}


def test_a_locked_study_that_did_not_change_opens(study: Path) -> None:
    assert verify(study) == read_lock(study)
    opened = open_study(study)
    assert opened.lock is not None
    assert "study file tutoreval.toml locked on 2026-12-01" in opened.instrument.declared


def test_a_study_without_a_lock_opens_and_says_so(tmp_path: Path) -> None:
    opened = open_study(write_study(tmp_path, module="unlocked_policy"))
    assert opened.lock is None
    assert any("tutoreval.toml is not locked" in line for line in opened.instrument.declared)


def test_a_lock_is_not_written_over_a_change(study: Path) -> None:
    before = lock_path(study).read_bytes()
    (study.parent / "prompts" / "spoken.txt").write_text("Tell them.\n", encoding="utf-8")
    with pytest.raises(StudyChanged):
        lock(study)
    assert lock_path(study).read_bytes() == before


def changed(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        path.write_bytes(path.read_bytes() + b"\n")

    return change


def with_other_line_ends(folder: Path) -> None:
    path = folder / "prompts" / "spoken.txt"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


BREAKS = [
    *(pytest.param(changed(name), name, id=f"changed-{name}") for name in LOCKED),
    pytest.param(with_other_line_ends, "prompts/spoken.txt", id="line-ends"),
    *(
        pytest.param(lambda folder, name=name: (folder / name).unlink(), name, id=f"gone-{name}")
        for name in ("claims/X1.toml", "own_policy.py", "prompts/spoken.txt")
    ),
    pytest.param(
        lambda folder: (folder / "claims" / "X2.toml").write_bytes(b""), "claims/X2.toml", id="a-claim-was-added"
    ),
]


@pytest.mark.parametrize(("break_it", "name"), BREAKS)
def test_whatever_changed_is_named_with_both_digests_and_the_way_out(
    study: Path, break_it: Callable[[Path], None], name: str
) -> None:
    written = read_lock(study)
    assert written is not None
    break_it(study.parent)
    with pytest.raises(StudyChanged) as raised:
        open_study(study)
    assert raised.value.names == (name,)
    path = study.parent / name
    message = str(raised.value)
    assert message.startswith(f"{study}: not what was locked on 2026-12-01.\n")
    found = file_sha256(path) if path.exists() else "absent"
    before = f"locked as {written.files[name]}" if name in written.files else "not in the lock"
    assert f"  {name}: sha256 is {found}, {before}\n" in message
    assert message.endswith('record the change: tutoreval lock --amend "why it was changed"')


def test_every_change_is_named_at_once(study: Path) -> None:
    for name in LOCKED:
        changed(name)(study.parent)
    with pytest.raises(StudyChanged) as raised:
        verify(study)
    assert raised.value.names == tuple(LOCKED)


def test_another_core_is_named(study: Path) -> None:
    with pytest.raises(StudyChanged, match=f"{CORE}: sha256 is {'0' * 64}, locked as {CORE_DIGEST}"):
        verify(study, core="0" * 64)


def test_a_policy_that_is_no_longer_named_is_named(study: Path) -> None:
    text = study.read_text(encoding="utf-8").replace('prompt = "prompts/spoken.txt"', "direct = true")
    study.write_text(text, encoding="utf-8")
    with pytest.raises(StudyChanged) as raised:
        verify(study)
    assert raised.value.names == ("prompts/spoken.txt", "tutoreval.toml")


# amendments


def test_an_amendment_holds_date_reason_and_both_digests(study: Path) -> None:
    prompt = study.parent / "prompts" / "spoken.txt"
    before = file_sha256(prompt)
    prompt.write_text("Ask first.\n", encoding="utf-8")
    amended = amend(study, "students were confused")
    (amendment,) = amended.amendments
    assert (amendment.date, amendment.reason) == ("2026-12-24", "students were confused")
    assert [(change.name, change.before, change.after) for change in amendment.changes] == [
        ("prompts/spoken.txt", before, file_sha256(prompt))
    ]
    assert amended.date == "2026-12-01"


def test_an_amended_study_opens_and_declares_the_amendment(study: Path) -> None:
    changed("claims/X1.toml")(study.parent)
    amend(study, "the title was wrong")
    assert "2026-12-24: claims/X1.toml amended: the title was wrong" in open_study(study).instrument.declared


def test_amendments_are_kept_in_their_order(study: Path) -> None:
    for reason in ("first", "second"):
        changed("tutoreval.toml")(study.parent)
        amend(study, reason)
    written = read_lock(study)
    assert written is not None
    assert [amendment.reason for amendment in written.amendments] == ["first", "second"]
    first, second = (amendment.changes[0] for amendment in written.amendments)
    assert first.after == second.before


def test_what_was_locked_on_is_the_last_date(study: Path) -> None:
    changed("tutoreval.toml")(study.parent)
    amend(study)
    changed("tutoreval.toml")(study.parent)
    with pytest.raises(StudyChanged, match="not what was locked on 2026-12-24"):
        verify(study)


def test_a_file_that_is_gone_is_amended_away(study: Path) -> None:
    (study.parent / "claims" / "X1.toml").unlink()
    amended = amend(study)
    assert amended.amendments[0].changes[0].after is None
    assert "claims/X1.toml" not in amended.files
    assert verify(study) == amended


def test_nothing_is_amended_where_nothing_changed(study: Path) -> None:
    with pytest.raises(InstrumentError, match="nothing changed since it was locked"):
        amend(study)


def test_nothing_is_amended_where_nothing_is_locked(tmp_path: Path) -> None:
    with pytest.raises(InstrumentError, match="not locked, so there is nothing to amend"):
        amend(write_study(tmp_path))


# what cannot be locked or read


@pytest.mark.parametrize("name", ["prompts/spoken.txt", "own_policy.py"])
def test_a_study_that_names_a_missing_file_is_not_locked(tmp_path: Path, name: str) -> None:
    study = write_study(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InstrumentError, match=f"{name} does not exist, so the study cannot be locked"):
        lock(study)
    assert not lock_path(study).exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("date = ", "cannot be read as a lock", id="not-toml"),
        pytest.param("surprise = 1", "not a lock: ", id="other-fields"),
        pytest.param("format = 'tutoreval-lock/9'", "not a lock: format", id="another-format"),
    ],
)
def test_a_lock_that_cannot_be_read_says_how_to_get_it_back(study: Path, text: str, problem: str) -> None:
    lock_path(study).write_text(text, encoding="utf-8")
    with pytest.raises(InstrumentError, match=problem) as raised:
        open_study(study)
    assert "Restore it from version control" in str(raised.value)


def test_the_lock_of_a_study_file_of_another_name_stands_beside_it(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    renamed = study.rename(tmp_path / "tutors.toml")
    lock(renamed)
    assert sorted(path.name for path in tmp_path.glob("*.lock")) == ["tutors.lock"]


def test_a_module_from_elsewhere_is_locked_under_its_name(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    text = study.read_text(encoding="utf-8").replace(
        "own_policy:tutor_turn", "pytest_tutoreval.policies.conv:conv_turn"
    )
    study.write_text(text, encoding="utf-8")
    assert "module pytest_tutoreval.policies.conv" in lock(study).files
