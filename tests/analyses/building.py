"""Table corpora made up turn by turn, so that what an analysis must find is known; and a text corpus as tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_tutoreval.analyses.catalogue import all_analyses
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.frozen import Instrument, load_instrument
from pytest_tutoreval.measures import BASELINES, CorpusMeasures
from pytest_tutoreval.records import CorpusManifest
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.records.measured import SessionRow, TurnRow
from pytest_tutoreval.store import open_corpus, render_table, seal_corpus
from pytest_tutoreval.store.tables import COLUMNS

__all__ = ["Said", "Turn", "a_small_instrument", "analyse", "as_tables", "part", "parts_of", "tabled"]

ARMS = ("conv", "ped")


@dataclass(frozen=True)
class Turn:
    """An in-window tutor turn: whether it leaks, whether the reply holds a step, and its scores."""

    leaky: bool = False
    reply: bool | None = True
    helpfulness: float | None = 4.0
    pedagogy: float | None = 3.0
    route: str | None = None


@dataclass(frozen=True)
class Said:
    """A tutored problem: whether the opening reply holds a step, and the in-window tutor turns."""

    turns: tuple[Turn, ...] = ()
    opening: bool = False


# condition -> replicate -> what was said on the first problems; the others have an opening without a step.
Spec = Mapping[str, Mapping[int, Sequence[Said]]]


def a_small_instrument(replicates: int, *, draws: int = 200) -> Instrument:
    """The bundled instrument with fewer registered replicates and fewer bootstrap draws."""
    instrument = load_instrument()
    study = instrument.study
    return replace(
        instrument,
        study=study.model_copy(
            update={
                "protocol": study.protocol.model_copy(update={"replicates": replicates}),
                "inference": study.inference.model_copy(update={"bootstrap_draws": draws}),
            }
        ),
    )


def tabled(
    folder: Path, spec: Spec, instrument: Instrument, *, tokens: Mapping[str, int] | None = None
) -> CorpusMeasures:
    """Return a table corpus of sonnet and opus that says what `spec` says; variants go to tables/ablation."""
    problems = [problem.id for problem in instrument.training]
    main: dict[str, list[Sequence[object]]] = {name: [] for name in COLUMNS}
    ablation: dict[str, list[Sequence[object]]] = {name: [] for name in COLUMNS}
    for condition, sessions in spec.items():
        tables = ablation if condition in BASELINES else main
        for replicate, said in sessions.items():
            given = [*said, *[Said()] * (len(problems) - len(said))]
            turns = [turn for of in given for turn in of.turns]
            n_student = len(turns) + len(problems)
            steps = sum(bool(turn.reply) for turn in turns) + sum(of.opening for of in given)
            leaky = sum(turn.leaky for turn in turns)
            spent = (tokens or {}).get(condition, 1000)
            tables["sessions.csv"].append(
                [
                    *("sonnet", condition, replicate, replicate),
                    *(leaky / len(turns) if turns else None, steps / n_student),
                    *(1.0, 2 / 3, 1 / 3, len(turns), n_student, 24, 43, 67, spent, 20, 30, 40),
                ]
            )
            for problem, of in zip(problems, given, strict=True):
                for number, turn in enumerate(of.turns):
                    where = ("sonnet", condition, replicate, problem, number)
                    tables["turns.csv"].append([*where, turn.leaky, turn.reply, 1, 9, turn.route])
                    tables["scores.csv"].append(["opus", "helpfulness", *where, turn.helpfulness])
                    tables["scores.csv"].append(["opus", "pedagogy", *where, turn.pedagogy])
    return _write(folder, main, ablation, instrument, judges=("opus",))


def as_tables(measures: CorpusMeasures, folder: Path, base: str = "sonnet") -> CorpusMeasures:
    """Return the conv and ped cells of a corpus with text as a table corpus: what a release of tables would keep."""
    main: dict[str, list[Sequence[object]]] = {name: [] for name in COLUMNS}
    judges = measures.corpus.manifest.judges
    for arm in ARMS:
        cell = measures.cell(base, arm)
        for row in cell.sessions.values():
            main["sessions.csv"].append(_session_cells(row))
        for turn in (turn for turns in cell.turns.values() for turn in turns):
            main["turns.csv"].append(_turn_cells(base, turn))
            for judge in judges:
                for rubric in ("helpfulness", "pedagogy"):
                    score = measures.scores(base, arm, judge, rubric).turns[turn.id].value
                    main["scores.csv"].append([judge, rubric, base, *turn.id, score])
    return _write(folder, main, {name: [] for name in COLUMNS}, measures.instrument, judges=judges)


def _session_cells(row: SessionRow) -> Sequence[object]:
    names = COLUMNS["sessions.csv"][3:]
    return [row.key.base, row.key.condition, row.key.replicate, *(getattr(row, name) for name in names)]


def _turn_cells(base: str, turn: TurnRow) -> Sequence[object]:
    return [base, *turn.id, *(getattr(turn, name) for name in COLUMNS["turns.csv"][5:])]


def _write(
    folder: Path,
    main: Mapping[str, Iterable[Sequence[object]]],
    ablation: Mapping[str, Iterable[Sequence[object]]],
    instrument: Instrument,
    *,
    judges: Sequence[str],
) -> CorpusMeasures:
    for part_of, tables in (("tables", main), ("tables/ablation", ablation)):
        (folder / part_of).mkdir(parents=True)
        for name, rows in tables.items():
            text = render_table(COLUMNS[name], rows)
            (folder / part_of / name).write_text(text, encoding="utf-8", newline="\n")
    manifest = CorpusManifest(
        name="made-up",
        provenance="simulated",
        content="tables",
        instrument=instrument.sha256,
        study=instrument.study.name,
        producer="tests",
        bases=("sonnet",),
        conditions=ARMS,
        judges=tuple(judges),
    )
    seal_corpus(folder, manifest)
    return CorpusMeasures(open_corpus(folder), instrument)


def analyse(
    measures: CorpusMeasures, name: str, base: str | None = "sonnet", judge: str | None = None
) -> dict[str, AnalysisRow]:
    """Return the rows of a named analysis by measure; a name that stands twice is an error."""
    manifest = measures.corpus.manifest
    analysis = all_analyses()[name]
    given = AnalysisInput(
        measures,
        None if analysis.scope == "corpus" else base,
        judge if analysis.scope == "base_judge" else None,
        manifest.bases,
        manifest.judges,
    )
    rows = analysis.run(given)
    found = {row.measure: row for row in rows}
    assert len(found) == len(rows), "a measure stands twice"
    assert all(row.analysis == name and row.role == analysis.role for row in rows)
    return found


def parts_of(row: AnalysisRow) -> dict[str, Any]:
    """Return a row's parts by name; a name that stands twice is an error."""
    parts = {component.name: component for component in row.components}
    assert len(parts) == len(row.components), "a part stands twice"
    return parts


def part(row: AnalysisRow, name: str) -> Any:
    """Return a part of a row."""
    return parts_of(row)[name]
