"""The frozen instrument: problems, forms, texts and study, verified on loading."""

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from pydantic import ValidationError

from pytest_tutoreval.errors import InstrumentError
from pytest_tutoreval.frozen.conditions import PACKAGE_CONDITIONS
from pytest_tutoreval.frozen.constraints import check_constraints
from pytest_tutoreval.frozen.manifest import verify_files
from pytest_tutoreval.records.base import Record
from pytest_tutoreval.records.problem import Problem
from pytest_tutoreval.records.study import Study
from pytest_tutoreval.resources import data_folder

__all__ = ["Instrument", "OwnPolicy", "RouterRules", "load_instrument", "read_instrument"]


class RouterRules(Record):
    """The frozen parameters of the ped router (definitions, section 4)."""

    attempt: tuple[str, ...]
    request: tuple[str, ...]
    attempts_threshold: int
    hint_levels: tuple[str, ...]
    tracker_fields: tuple[str, ...]


@dataclass(frozen=True)
class OwnPolicy:
    """A condition of the user's own, read; `sha256` is stamped into its sessions, so that two texts are never mixed.

    `prompt` is the text as it is sent. `callable` is `module:function`, looked for in `folder` first. Where both are
    None the base gets the statement and the dialogue alone.
    """

    id: str
    sha256: str
    folder: Path
    prompt: str | None = None
    callable: str | None = None


@dataclass(frozen=True)
class Instrument:
    """Everything that was frozen before the data.

    `prompts`, `rubrics` and `wording` map a file's stem to its text without the final line end: a text is sent
    that way. `wording` is ours, declared in the register; `prompts` and `rubrics` are the study's.

    A user's study adds the rest: `core_sha256` is the frozen core's digest where `sha256` is an extension's,
    `amendments` are recorded departures, stamped into every session, and `declared` is what else reports have to say.
    """

    folder: Path
    sha256: str
    study: Study
    problems: tuple[Problem, ...]
    prompts: Mapping[str, str]
    rubrics: Mapping[str, str]
    wording: Mapping[str, str]
    router: RouterRules
    amendments: tuple[str, ...] = ()
    own_policies: Mapping[str, OwnPolicy] = field(default_factory=dict)
    core_sha256: str | None = None
    declared: tuple[str, ...] = ()

    @cached_property
    def problem(self) -> Mapping[str, Problem]:
        """Problems by id."""
        return {problem.id: problem for problem in self.problems}

    @cached_property
    def training(self) -> tuple[Problem, ...]:
        """The tutored problems, in session order."""
        return tuple(problem for problem in self.problems if problem.phase == "training")

    def policy_sha256(self, condition: str) -> str | None:
        """Return the digest that a condition's sessions carry: an own or a package's policy's, None for the study's."""
        own = self.own_policies.get(condition)
        return own.sha256 if own else PACKAGE_CONDITIONS.get(condition)


@lru_cache(maxsize=1)
def load_instrument() -> Instrument:
    """Return the bundled instrument, verified; once a process."""
    return read_instrument(data_folder("instrument"))


def read_instrument(folder: Path) -> Instrument:
    """Return the instrument in `folder`, every hash and constraint checked.

    Raises
    ------
    TamperedInstrument, ConstraintViolated, InstrumentError
    """
    digest = verify_files(folder)
    try:
        instrument = Instrument(
            folder=folder,
            sha256=digest,
            study=Study.parse(_toml(folder / "study.toml")),
            problems=_problems(folder),
            prompts=_texts(folder / "prompts"),
            rubrics=_texts(folder / "rubrics"),
            wording=_texts(folder / "wording"),
            router=RouterRules.model_validate(_toml(folder / "router.toml")),
        )
    except (ValidationError, TypeError, KeyError, ValueError) as exc:
        raise InstrumentError(f"{folder}: not a readable instrument: {exc}") from exc
    check_constraints(instrument.problems, instrument.study.protocol.phase_counts)
    return instrument


def _toml(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _texts(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8").removesuffix("\n") for path in sorted(folder.glob("*.txt"))}


def _problems(folder: Path) -> tuple[Problem, ...]:
    forms: dict[tuple[str, str], list[str]] = {}
    with (folder / "forms.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            forms.setdefault((row["id"], row["kind"]), []).append(row["form"])
    with (folder / "problems.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Problem(
                id=row["id"],
                phase=row["phase"],
                statement=row["statement"],
                answer=float(row["answer"]),
                training_parent=row["training_parent"] or None,
                numeric_forms=tuple(forms.get((row["id"], "numeric"), ())),
                solution_forms=tuple(forms.get((row["id"], "solution"), ())),
            )
            for row in csv.DictReader(file)
        )
