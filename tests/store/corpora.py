"""Corpora to test with: the released tables, edited; tables made up to order; copies of the demo to damage."""

import csv
import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from pytest_tutoreval.analyses import compare_with_released
from pytest_tutoreval.claims import bundled_claims, decide_claim
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records import CorpusManifest, Verdict
from pytest_tutoreval.resources import data_folder
from pytest_tutoreval.store import open_corpus, render_table, seal_corpus
from pytest_tutoreval.store.tables import COLUMNS

__all__ = [
    "DEMO",
    "Row",
    "a_corpus_of",
    "a_table_corpus",
    "decide",
    "demo_copy",
    "edit_lines",
    "edited",
    "fingerprint",
    "measures_of",
    "reseal",
    "stamp",
]

DEMO = data_folder("fixtures") / "demo"
ARMS = ("conv", "ped")
Row = dict[str, str]
Edit = Callable[[list[Row]], list[Row]]


# tables


def edited(source: Path, target: Path, **edits: Edit) -> Path:
    """Return a copy of a table corpus with some tables edited (turns=…, sessions=…) and everything sealed anew."""
    shutil.copytree(source, target)
    for table, edit in edits.items():
        path = target / "tables" / f"{table}.csv"
        rows = edit(list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))))
        columns = COLUMNS[path.name]
        path.write_text(render_table(columns, [[row[name] for name in columns] for row in rows]), encoding="utf-8")
    reseal(target)
    return target


def reseal(folder: Path) -> None:
    """Seal what is in a corpus now."""
    seal_corpus(folder, open_corpus(folder).manifest)


def a_table_corpus(
    target: Path,
    conv: Sequence[float | None],
    ped: Sequence[float | None],
    *,
    measure: str = "leakage",
    judge: str = "opus",
    seed_offset: int = 0,
) -> Path:
    """Return a table corpus of one base whose sessions have just these values of one measure, and no turns."""
    cells = {("sonnet", arm): values for arm, values in zip(ARMS, (conv, ped), strict=True)}
    return a_corpus_of(target, cells, measure=measure, judge=judge, seed_offset=seed_offset)


def a_corpus_of(
    target: Path,
    cells: Mapping[tuple[str, str], Sequence[float | None]],
    *,
    measure: str = "leakage",
    judge: str = "opus",
    seed_offset: int = 0,
) -> Path:
    """Return a table corpus whose cells, base and condition, have just these values of one measure, and no turns."""
    sessions: list[Sequence[object]] = []
    scores: list[Sequence[object]] = []
    for (base, arm), values in cells.items():
        for replicate, value in enumerate(values):
            rates = [value if measure == name else None for name in ("leakage", "independence")]
            counts = [0, 6, 24, 43, 67, 1, 1, 1, 1]
            sessions.append([base, arm, replicate, replicate + seed_offset, *rates, 1.0, 1.0, 1.0, *counts])
            if measure in ("helpfulness", "pedagogy"):
                scores.append([judge, measure, base, arm, replicate, value])
    (target / "tables").mkdir(parents=True)
    for name, rows in (
        ("turns.csv", []),
        ("sessions.csv", sessions),
        ("scores.csv", []),
        ("session_scores.csv", scores),
    ):
        (target / "tables" / name).write_text(render_table(COLUMNS[name], rows), encoding="utf-8")
    instrument = load_instrument()
    seal_corpus(
        target,
        CorpusManifest(
            name="made-up",
            provenance="simulated",
            content="tables",
            instrument=instrument.sha256,
            study=instrument.study.name,
            producer="tests",
            bases=tuple(dict.fromkeys(base for base, _ in cells)),
            conditions=tuple(dict.fromkeys(condition for _, condition in cells)),
            judges=(judge,),
        ),
    )
    return target


# sessions


def demo_copy(target: Path, *, base: str = "sonnet", sealed: bool = False, rubrics: bool = True) -> Path:
    """Return a copy of one base of the demo to damage; unsealed, so that each fault gets its own diagnosis."""
    for condition in ARMS:
        shutil.copytree(DEMO / "sessions" / base / condition, target / "sessions" / base / condition)
        for judge in ("opus", "sol") if rubrics else ():
            part = Path("ratings") / judge / "helpfulness" / base / condition
            shutil.copytree(DEMO / part, target / part)
    manifest = open_corpus(DEMO).manifest
    kept = {name: digest for name, digest in manifest.files.items() if (target / name).is_file()}
    stamp(target, manifest, name="copy", bases=[base], conditions=list(ARMS), files=kept if sealed else {})
    return target


def stamp(folder: Path, manifest: CorpusManifest, **fields: Any) -> None:
    """Write a manifest with some of its fields replaced, unchecked."""
    stated = manifest.model_dump(mode="json", exclude_none=True) | fields
    (folder / "corpus.toml").write_text(tomli_w.dumps(stated), encoding="utf-8")


def edit_lines(path: Path, edit: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Rewrite a line file with its objects edited."""
    lines = edit([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    path.write_bytes(text.encode())


def fingerprint(folder: Path) -> Mapping[str, str]:
    """Return the digest of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# verdicts


def measures_of(folder: Path) -> CorpusMeasures:
    """Return the measures of a corpus."""
    instrument = load_instrument()
    return CorpusMeasures(open_corpus(folder, instrument=instrument.sha256), instrument)


def decide(folder: Path, claim: str, base: str = "sonnet", judge: str | None = None) -> Verdict:
    """Return a registered claim's verdict, with its notes and what the released results say to it."""
    claims, measures = bundled_claims(), measures_of(folder)
    verdict = decide_claim(claims[claim], claims, measures, base, judge)
    return verdict.model_copy(update={"notes": (*verdict.notes, *compare_with_released(verdict, measures))})
