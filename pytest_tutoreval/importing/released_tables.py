"""The study's released tables as a table-only corpus.

Two layouts hold the same files: the study's own `results/` tree, and a flat copy with one folder. Scores, flags and
means are taken as released; nothing is recomputed, and what the tables contradict is refused.
"""

import csv
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_tutoreval import __version__
from pytest_tutoreval.errors import ImportFailure
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.store import seal_corpus
from pytest_tutoreval.store.tables import COLUMNS, render_table

__all__ = ["import_released_tables"]

BASES = ("sonnet", "gpt", "gemini")
PRIMARY_JUDGE, SECOND_JUDGE = "opus", "sol"
ABLATED_BASE = "sonnet"
ARMS = ("conv", "ped")

# Columns of a second judge's per-turn table that are not its own.
_JUDGE_FREE = (
    *("condition", "replicate_id", "problem_id", "turn_index"),
    *("leaks", "next_turn_independence", "n_model_calls", "tutor_tokens", "branch"),
)
_RUBRICS = ("helpfulness", "pedagogy")

Row = Mapping[str, str]


def _layout() -> dict[str, str]:
    """Return where each flat file stands in the study's own tree."""
    places: dict[str, str] = {}
    for base in BASES:
        folder = "confirmatory" if base == "sonnet" else f"confirmatory_{base}"
        second = f"judge_robustness/gpt-5.6-sol/{base}"
        places |= {
            f"per_turn.{base}.csv": f"{folder}/per_turn.csv",
            f"per_session.{base}.csv": f"{folder}/per_session.csv",
            f"inference.{base}.json": f"{folder}/inference.json",
            f"per_turn.{base}.sol.csv": f"{second}/per_turn.csv",
            f"inference.{base}.sol.json": f"{second}/judge_inference.json",
            f"policy_adjusted.{base}.sol.json": f"{second}/policy_adjusted.json",
        }
    return places | {
        "per_turn.ablation.csv": "ablation/per_turn.csv",
        "per_session.ablation.csv": "ablation/per_session.csv",
        "ablation_analysis.json": "ablation/ablation_analysis.json",
        "matched_budget.sonnet.json": "confirmatory/matched_budget.json",
        "comparison.sol.json": "judge_robustness/gpt-5.6-sol/comparison/comparison.json",
        "condition_adjusted.json": "condition_adjusted_sensitivity/analysis.json",
    }


@dataclass(frozen=True)
class _Released:
    """The released files of either layout, by their flat name."""

    paths: Mapping[str, Path]

    @classmethod
    def find(cls, folder: Path) -> "_Released":
        for root in (folder, folder / "results"):
            for places in ({name: name for name in _layout()}, _layout()):
                paths = {name: root / place for name, place in places.items() if (root / place).is_file()}
                if f"per_turn.{BASES[0]}.csv" in paths:
                    return cls(paths)
        raise ImportFailure(
            f"{folder}: no released tables there (looked for per_turn.{BASES[0]}.csv and "
            f"results/{_layout()[f'per_turn.{BASES[0]}.csv']}); give the folder that holds them"
        )

    def rows(self, name: str) -> list[Row]:
        try:
            path = self.paths[name]
        except KeyError:
            raise ImportFailure(f"{name}: missing among the released tables; the import needs all of them") from None
        try:
            with path.open(encoding="utf-8", newline="") as file:
                reader = csv.DictReader(file)
                rows: list[Row] = list(reader)
        except (OSError, UnicodeDecodeError) as exc:
            raise ImportFailure(f"{path}: cannot be read: {exc}") from exc
        if not rows:
            raise ImportFailure(f"{path}: holds no rows")
        for number, row in enumerate(rows, start=1):
            if None in row or None in row.values():
                raise ImportFailure(f"{path}: row {number}: not {len(reader.fieldnames or ())} cells; restore the file")
        return rows

    def references(self) -> list[tuple[str, Path]]:
        return [(name, path) for name, path in sorted(self.paths.items()) if name.endswith(".json")]


@dataclass
class _Tables:
    turns: list[Sequence[object]]
    sessions: list[Sequence[object]]
    scores: list[Sequence[object]]
    session_scores: list[Sequence[object]]

    def add_base(self, base: str, turns: Sequence[Row], sessions: Sequence[Row]) -> None:
        """Add a base's judge-free rows and the primary judge's scores."""
        for row in turns:
            self.turns.append(
                [
                    base,
                    *(row[name] for name in ("condition", "replicate_id", "problem_id", "turn_index", "leaks")),
                    *(row[name] for name in ("next_turn_independence", "n_model_calls", "tutor_tokens", "branch")),
                ]
            )
        for row in sessions:
            self.sessions.append(
                [
                    base,
                    *(
                        row[name]
                        for name in ("condition", "replicate_id", "seed", "leakage_rate", "independence_ratio")
                    ),
                    *(row[name] for name in ("acc_immediate", "acc_delayed", "acc_transfer")),
                    *(row[name] for name in ("n_train_tutor_turns", "n_train_student_turns", "visible_tutor_turns")),
                    *(row[name] for name in ("student_turns", "n_model_calls", "tutor_tokens", "student_tokens")),
                    *(row[name] for name in ("input_tokens", "output_tokens")),
                ]
            )
            for rubric in _RUBRICS:
                if row[f"{rubric}_mean"] != "":
                    where = (row["condition"], row["replicate_id"])
                    self.session_scores.append([PRIMARY_JUDGE, rubric, base, *where, row[f"{rubric}_mean"]])
        self.add_scores(base, PRIMARY_JUDGE, turns)

    def add_scores(self, base: str, judge: str, turns: Sequence[Row]) -> None:
        """Add a judge's per-turn scores."""
        for row in turns:
            where = [row[name] for name in ("condition", "replicate_id", "problem_id", "turn_index")]
            self.scores += [[judge, rubric, base, *where, row[rubric]] for rubric in _RUBRICS]

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        for name, rows in (
            ("turns.csv", self.turns),
            ("sessions.csv", self.sessions),
            ("scores.csv", self.scores),
            ("session_scores.csv", self.session_scores),
        ):
            (folder / name).write_text(render_table(COLUMNS[name], rows), encoding="utf-8", newline="\n")


def import_released_tables(source: Path, target: Path, instrument: Instrument) -> CorpusManifest:
    """Write the released tables in `source` as a corpus in `target` and return its manifest.

    The ablation conditions stand apart in `tables/ablation`; the released result files are kept in `reference/`, for
    comparison only.

    Raises
    ------
    ImportFailure
        A table is missing, empty or torn, a column is missing, the second judge's judge-free columns differ from the
        primary judge's, the ablation table's conv and ped rows differ from the base's own, or `target` is not empty.
    """
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ImportFailure(f"{target}: not empty; give a new folder")
    released = _Released.find(source)
    try:
        main, ablation = _read(released)
    except KeyError as exc:
        raise ImportFailure(f"{source}: a released table has no column {exc}") from exc
    target.mkdir(parents=True, exist_ok=True)
    main.write(target / "tables")
    ablation.write(target / "tables" / "ablation")
    (target / "reference").mkdir()
    for name, path in released.references():
        shutil.copyfile(path, target / "reference" / name)
    return seal_corpus(
        target,
        CorpusManifest(
            name="released-tables",
            provenance="imported",
            content="tables",
            instrument=instrument.sha256,
            study=instrument.study.name,
            producer=f"pytest-tutoreval {__version__}",
            bases=BASES,
            conditions=("cold", *ARMS),
            judges=(PRIMARY_JUDGE, SECOND_JUDGE),
            source="released tables of the study, imported as they are",
            notes=("tables only: claims that need text are not evaluable from this corpus",),
        ),
    )


def _read(released: _Released) -> tuple[_Tables, _Tables]:
    main, ablation = _Tables([], [], [], []), _Tables([], [], [], [])
    for base in BASES:
        turns = released.rows(f"per_turn.{base}.csv")
        main.add_base(base, turns, released.rows(f"per_session.{base}.csv"))
        second = released.rows(f"per_turn.{base}.{SECOND_JUDGE}.csv")
        _same_rows(f"per_turn.{base}.{SECOND_JUDGE}.csv", second, turns, _JUDGE_FREE)
        main.add_scores(base, SECOND_JUDGE, second)
    rows = released.rows("per_turn.ablation.csv")
    own = [row for row in rows if row["condition"] in ARMS]
    _same_rows("per_turn.ablation.csv", own, released.rows(f"per_turn.{ABLATED_BASE}.csv"), list(own[0]) if own else [])
    ablation.add_base(
        ABLATED_BASE,
        [row for row in rows if row["condition"] not in ARMS],
        [row for row in released.rows("per_session.ablation.csv") if row["condition"] not in ("cold", *ARMS)],
    )
    return main, ablation


def _same_rows(name: str, found: Sequence[Row], expected: Sequence[Row], columns: Sequence[str]) -> None:
    """Refuse a table whose shared columns part from the base's own, naming the first difference."""
    if len(found) != len(expected):
        raise ImportFailure(f"{name}: {len(found)} rows, the base's own table has {len(expected)}")
    for number, (here, there) in enumerate(zip(found, expected, strict=True), start=1):
        differing = [column for column in columns if here[column] != there[column]]
        if differing:
            column = differing[0]
            raise ImportFailure(
                f"{name}: row {number}: {column} is {here[column]!r}, the base's own table has {there[column]!r}"
            )
