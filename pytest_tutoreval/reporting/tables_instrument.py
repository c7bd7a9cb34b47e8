"""Tables 3 to 6: what was frozen, and under which status."""

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.records.problem import PHASES, Phase, Problem
from pytest_tutoreval.reporting.tables import Cell, Column, Table, absent, text, whole
from pytest_tutoreval.reporting.tables_source import StudyResults

__all__ = ["forms_table", "instrument_table", "instrument_tables", "problems_table", "status_table"]

# The family of each phase's problems and the study's remark on them (definitions, section 2).
_FAMILIES: dict[Phase, tuple[str, str]] = {
    "training": ("mixture", "tutored in conv and ped"),
    "immediate": ("mixture", "isomorphs of three training items"),
    "interference": ("relative motion", "competing method; not scored as an outcome"),
    "delayed": ("mixture", "isomorphs; only the base amount changes"),
    "transfer": ("price blend, alloy, octane", "same balance relation, new surface"),
}
_NO_PARENT = "training and interference items have no training parent"


def instrument_tables(results: StudyResults) -> list[Table]:
    """Return Tables 3 to 6."""
    return [instrument_table(results), status_table(results), problems_table(results), forms_table(results)]


def instrument_table(results: StudyResults) -> Table:
    """Return Table 3: the phases of a session, in order."""
    instrument = results.measures.instrument
    rows = []
    for phase in PHASES:
        problems = [problem for problem in instrument.problems if problem.phase == phase]
        family, note = _FAMILIES[phase]
        rows.append((text(phase), whole(len(problems)), text(family), text(note)))
    rows.append((text("all"), whole(len(instrument.problems)), text("all of the above"), text("frozen, hash-checked")))
    return Table(
        number="3",
        title="The instrument: problems by phase, in the order of a session",
        columns=(
            Column("phase", "Phase"),
            Column("n", "n", "right"),
            Column("family", "Family"),
            Column("note", "Note", width=0.4),
        ),
        rows=tuple(rows),
        notes=(f"Instrument digest {instrument.sha256}.",),
        simulated=results.simulated,
    )


def status_table(results: StudyResults) -> Table:
    """Return Table 4: the register of specification status, then what this corpus adds to the frozen study."""
    instrument = results.measures.instrument
    rows: list[tuple[Cell, ...]] = [
        (text(entry.component), text(entry.status), text(entry.evidence_visible), text(entry.role))
        for entry in results.study.register_entries
    ]
    rows += _additions(results)
    rows += [
        (
            text("student" if ": student " in amendment else "study file"),
            text("amended on the record"),
            absent("the amendment gives its own reason"),
            text(amendment),
        )
        for amendment in instrument.amendments
    ]
    rows += [
        (text("study file"), text("declared by the user"), absent("the study file does not say"), text(line))
        for line in instrument.declared
    ]
    widths = (0.26, 0.24, 0.2, 0.24)
    names = ("Component", "Status", "Evidence visible then", "Role")
    keys = ("component", "status", "evidence_visible", "role")
    return Table(
        number="4",
        title="Register of specification status and declared deviations",
        columns=tuple(Column(key, name, width=width) for key, name, width in zip(keys, names, widths, strict=True)),
        rows=tuple(rows),
        notes=("A component that is marked added is the user's own and in no registered result.",),
        simulated=results.simulated,
    )


def _additions(results: StudyResults) -> list[tuple[Cell, ...]]:
    """Return a row for each base and judge of the corpus that the frozen study does not name."""
    frozen = load_instrument().study
    unseen = absent("whoever added it knew the released results")
    added = [("base", name, results.base_label(name)) for name in results.bases if frozen.base(name) is None] + [
        ("judge", name, results.judge_label(name)) for name in results.manifest.judges if frozen.judge(name) is None
    ]
    return [
        (
            text(f"{kind} {name} ({label})"),
            text("added by the user, not registered"),
            unseen,
            text("in no registered result"),
        )
        for kind, name, label in added
    ]


def problems_table(results: StudyResults) -> Table:
    """Return Table 5: every problem, in file order."""
    return Table(
        number="5",
        title="The frozen problems",
        columns=(
            Column("id", "Problem"),
            Column("phase", "Phase"),
            Column("statement", "Statement", width=0.5),
            Column("answer", "Answer", "right", exact=True),
            Column("training_parent", "Training parent"),
        ),
        rows=tuple(_problem_row(problem) for problem in results.measures.instrument.problems),
        simulated=results.simulated,
    )


def _problem_row(problem: Problem) -> tuple[Cell, ...]:
    return (
        text(problem.id),
        text(problem.phase),
        text(problem.statement),
        Cell(f"{problem.answer:g}", problem.answer),
        absent(_NO_PARENT) if problem.training_parent is None else text(problem.training_parent),
    )


def forms_table(results: StudyResults) -> Table:
    """Return Table 6: the declared forms of each problem's answer, in file order."""
    return Table(
        number="6",
        title="Declared answer forms: what counts as leakage",
        columns=(
            Column("id", "Problem"),
            Column("numeric_forms", "Numeric forms", width=0.25),
            Column("solution_forms", "Solution phrasings", width=0.55),
        ),
        rows=tuple(
            (
                text(problem.id),
                _listed(problem.numeric_forms, ", ", "no numeric form is declared"),
                _listed(problem.solution_forms, "; ", "no solution phrasing is declared"),
            )
            for problem in results.measures.instrument.problems
        ),
        notes=(
            "A numeric form matches on token boundaries, a phrasing as a substring, both after normalisation "
            "(definitions, section 6). Frozen before confirmatory collection.",
        ),
        simulated=results.simulated,
    )


def _listed(forms: tuple[str, ...], between: str, otherwise: str) -> Cell:
    return text(between.join(forms)) if forms else absent(otherwise)
