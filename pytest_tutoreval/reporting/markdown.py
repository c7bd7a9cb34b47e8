"""The summary as Markdown: a pull-request comment, a step summary, a file that reads well as plain text.

Whatever a file or a model could have written stands in a code span: there GitHub resolves no mention, link, image,
issue or HTML, and a fence longer than any run of backticks inside cannot be closed from within.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_tutoreval.records.verdict import say
from pytest_tutoreval.reporting.gate_words import (
    gate_words,
    guard_numbers,
    guard_place,
    guards_by_urgency,
    outcome_words,
)
from pytest_tutoreval.reporting.grid import verdict_grids
from pytest_tutoreval.reporting.numbers import delta, interval, p_value, signed
from pytest_tutoreval.reporting.plain import visible
from pytest_tutoreval.reporting.words import (
    SIMULATED,
    cost_words,
    count_outcomes,
    distinct_notes,
    place_words,
    run_words,
)

__all__ = ["LIMIT", "SUMMARY", "render_summary"]

Row = Mapping[str, Any]

SUMMARY = "summary.md"

# The most characters GitHub takes for a comment.
LIMIT = 65_536

# By which a workflow finds the comment it wrote before.
_MARK = "<!-- tutoreval summary -->"

_MOST_OF_A_TEXT = 500
_FOLD_END = "</details>"
_CUT = "**Cut:** {} lines more than the 65,536 characters GitHub takes; `verdicts.json` holds all of it."
_BACKTICKS = re.compile("`+")


def render_summary(document: Row) -> str:
    """Return the document as GitHub-flavoured Markdown of at most 65,536 characters; a cut is stated at its end.

    The most urgent comes first: what the run lacks and what failed the gate, then the verdicts, then their notes.
    """
    claims = document["claims"]
    blocks = [
        [_MARK, f"### {_headline(document)}"],
        _warnings(document),
        *_gate(document),
        *_grids(claims),
        _claims(claims),
        *_listed("Not evaluable", _reasons(document["not_evaluable"])),
        _folded("Notes", [f"- {_code(place_words(row))}: {_code(note)}" for row, note in distinct_notes(claims)]),
        _folded("Registered rules", [_rule(entry) for entry in document.get("registrations", ())]),
        _folded("Analyses that were not run", _reasons(document["not_analysed"])),
        _facts(document),
    ]
    return _fit([block for block in blocks if block])


def _headline(document: Row) -> str:
    counts = [f"{n} {word.replace('_', ' ')}" for word, n in count_outcomes(document).items() if n]
    return "; ".join(filter(None, [", ".join(counts) or "nothing was decided", gate_words(document)]))


def _warnings(document: Row) -> list[str]:
    said = [f"**{SIMULATED}**"] if document["corpus"]["provenance"] == "simulated" else []
    said += [_run_line(line) for line in run_words(document["run"])]
    return ["> [!WARNING]", *(f"> {line}<br>" for line in said)] if said else []


def _run_line(line: str) -> str:
    """Return a line of `run_words`, which may quote a reason, with its word in bold and the rest as it is."""
    word, _, rest = line.partition(": ")
    return f"**{word}** {_code(rest)}"


def _gate(document: Row) -> Iterator[list[str]]:
    """Yield the guards, regressed ones first, and why each that is not held is not."""
    gate = document.get("gate")
    if gate is None:
        return
    rows, baseline = guards_by_urgency(gate["rows"]), gate["baseline"]
    source = f"corpus {_code(baseline['corpus'])} ({_code(baseline['provenance'])})"
    yield [f"**Gate** against {_code(baseline['path'])}: {source}"]
    yield _table(
        ("guard", "outcome", "baseline", "current", "difference", "interval", "margin", "n"),
        [(_cell(guard_place(row)), _outcome(row), *guard_numbers(row)) for row in rows],
        right=6,
    )
    yield [line for row in rows if row["outcome"] != "held" for line in _guard_reason(row)]


def _outcome(row: Row) -> str:
    return f"**{outcome_words(row)}**" if row["failed"] else outcome_words(row)


def _guard_reason(row: Row) -> Iterator[str]:
    enough = f" (n = {row['n_needed']} would decide)" if row["n_needed"] is not None else ""
    yield f"- {_code(guard_place(row))} {_outcome(row)}: {_code(row['reason'])}{enough}"
    if row["turns"]:
        yield f"  - for example {', '.join(_code(turn) for turn in row['turns'])}"


def _grids(claims: Sequence[Row]) -> Iterator[list[str]]:
    for grid in verdict_grids(claims):
        headings = (grid.heading, *grid.bases)
        yield _table([_cell(name) for name in headings], [(_cell(name), *words) for name, words in grid.rows])


def _claims(claims: Sequence[Row]) -> list[str]:
    """Return every claim with its numbers, and the legs it was decided by."""
    rows: list[Sequence[str]] = []
    for claim in claims:
        word = say(claim["verdict"]) + (" (rev)" if claim["reversed"] else "")
        names = [_cell(claim[name]) if claim[name] else "-" for name in ("claim", "base", "judge")]
        rows.append((*names, word, *_numbers(claim)))
        rows += [
            (_cell(part["name"]), "", "", _leg_word(part), *_numbers(part))
            for part in claim["components"]
            if part["verdict"] is None  # members of a joint claim have rows already
        ]
    headings = ("claim", "base", "judge", "verdict", "value", "95% interval", "p", "delta", "n")
    return _table(headings, rows, right=5) if rows else []


def _leg_word(part: Row) -> str:
    return "holds" if part["holds"] else "reversed" if part["reversed"] else "does not hold"


def _numbers(row: Row) -> tuple[str, ...]:
    n = "-" if row["n"] is None else str(row["n"])
    spread = interval(row["ci_low"], row["ci_high"])
    return signed(row["estimate"]), spread, p_value(row["p_value"]), delta(row["cliffs_delta"]), n


def _reasons(rows: Sequence[Row]) -> list[str]:
    return [f"- {_code(place_words(row))}: {_code(row['reason'])}" for row in rows]


def _rule(entry: Row) -> str:
    return f"- {_code(entry['claim'])} {_code(entry['title'])} {_code(entry['rule'])} Status: {_code(entry['status'])}"


def _facts(document: Row) -> list[str]:
    corpus, study, run = document["corpus"], document["study"], document["run"]
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    facts = [
        f"Corpus {_code(corpus['name'])} ({_code(corpus['provenance'])}) {_code(corpus['sha256'][:12])}",
        f"instrument {_code(study['instrument_sha256'][:12])}",
        f"cost: {cost_words(document['cost'])}",
        _code(versions),
        *map(_code, study.get("notes", ())),
    ]
    if run["analysed"] or run["not_analysed"]:
        rows = len(document["analyses"])
        facts.insert(0, f"{run['analysed']} analyses run ({rows} rows, in no verdict), {run['not_analysed']} not run")
    return [f"{fact}<br>" for fact in facts]


# layout


def _code(text: str) -> str:
    """Return a text as a code span: shown as it is, whatever it holds."""
    shown = visible(text, limit=_MOST_OF_A_TEXT).strip() or "-"
    fence = "`" * (1 + max(map(len, _BACKTICKS.findall(shown)), default=0))
    padding = " " if "`" in (shown[0], shown[-1]) else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def _cell(text: str) -> str:
    """Return a code span that stays in its table cell: a backslash would not always keep a pipe in it."""
    return _code(text.replace("|", r"\x7c"))


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: int = 0) -> list[str]:
    """Return a table whose last `right` columns are right-aligned."""
    ruler = ["---"] * (len(headings) - right) + ["---:"] * right
    return [f"| {' | '.join(cells)} |" for cells in (headings, ruler, *rows)]


def _listed(title: str, items: Sequence[str]) -> list[list[str]]:
    return [[f"**{title}**"], list(items)] if items else []


def _folded(title: str, items: Sequence[str]) -> list[str]:
    return [f"<details><summary>{title} ({len(items)})</summary>", "", *items, "", _FOLD_END] if items else []


def _fit(blocks: Sequence[Sequence[str]]) -> str:
    """Return the blocks, an empty line between them, cut at a line's end where they are longer than GitHub takes."""
    lines = [line for block in blocks for line in (*block, "")][:-1]
    room = LIMIT - len(_CUT.format(len(lines))) - len(f"\n{_FOLD_END}\n\n")
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > room:
            break
        kept.append(line)
    if len(kept) < len(lines):
        is_open = sum(line.startswith("<details>") for line in kept) > kept.count(_FOLD_END)
        kept += ["", *([_FOLD_END, ""] if is_open else []), _CUT.format(len(lines) - len(kept))]
    return "\n".join(kept) + "\n"
