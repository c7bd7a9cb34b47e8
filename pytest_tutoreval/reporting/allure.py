"""What Allure shows of an item: title, tags, labels, severity, description and attachments, from a row alone.

Pure functions, shared by the running plugin and by the re-renderer in `allure_results`, so that both say the same.
"""

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_tutoreval.records.verdict import say
from pytest_tutoreval.reporting.forest_figure import forest_figure
from pytest_tutoreval.reporting.numbers import p_value, signed
from pytest_tutoreval.reporting.plain import visible
from pytest_tutoreval.reporting.words import SIMULATED, run_words

__all__ = [
    "NOT_EVALUABLE",
    "NOT_RUN",
    "WITHOUT_RESULT",
    "AllureEntry",
    "Attachment",
    "Setting",
    "analysis_entry",
    "categories",
    "claim_entry",
    "environment",
    "gate_entry",
    "gate_message",
    "severity_of",
    "stated_message",
]

Row = Mapping[str, Any]

NOT_EVALUABLE = "not evaluable"
NOT_RUN = "not run"
_GATE_SAYS: Mapping[str, str] = {"regressed": "REGRESSION", "not_decided": "NOT DECIDED", "held": "HELD"}
WITHOUT_RESULT = frozenset({NOT_EVALUABLE, NOT_RUN})

# What a reader should look at first. A broken instrument or an unread gate makes every other line worthless; nothing
# but a confirmatory claim decides anything; audits and sensitivities may cast doubt on one; the rest describes.
_SEVERITIES: Mapping[str, str] = {
    "instrument": "blocker",
    "preflight": "blocker",
    "confirmatory": "critical",
    "audit": "normal",
    "sensitivity": "normal",
    "ablation": "minor",
    "descriptive": "minor",
}


@dataclass(frozen=True)
class Setting:
    """What is the same for every item of a run: the study's name and where the data come from."""

    study: str
    provenance: str


@dataclass(frozen=True)
class Attachment:
    """A file shown with an item; `extension` without its dot."""

    name: str
    mime: str
    extension: str
    text: str


@dataclass(frozen=True)
class AllureEntry:
    """What Allure shows of one item.

    `labels` are epic, feature, story, and what came out: `verdict` holds the verdict's words, or what came instead, and
    `gate` a guard's. None of it enters a history id. `description` is HTML with everything from outside escaped.
    """

    title: str
    severity: str
    tags: tuple[str, ...]
    labels: Mapping[str, str]
    description: str
    attachments: tuple[Attachment, ...]


def severity_of(role: str | None) -> str:
    """Return Allure's severity of a role; a role nobody registered is normal."""
    return _SEVERITIES.get(role or "", "normal")


def claim_entry(row: Row, setting: Setting, registration: Row | None = None) -> AllureEntry:
    """Return what is shown of a claim: a row with its verdict, or one with the reason why there is none.

    A row may carry, under `gate`, the guard that holds the verdict against the baseline's.

    Parameters
    ----------
    registration : the claim's entry under `registrations` in the document; None where nobody knows it
    """
    registered, guard = registration or {}, row.get("gate")
    outcome = say(row["verdict"]) if "verdict" in row else NOT_EVALUABLE
    reversal = ", reversed" if row.get("reversed") else ""
    role = row.get("role") or registered.get("role")
    title = str(registered.get("title") or "")
    paragraphs = [("Registered rule", str(registered["rule"]))] if registered.get("rule") else []
    if "verdict" in row:
        paragraphs += [(say(row["verdict"]).capitalize() + reversal, _numbers(row))]
        paragraphs += [(part["name"], _part(part)) for part in row.get("components", ())]
        paragraphs += [("Registered", f"{row['status']}; {row['role']}")]
    else:
        paragraphs += [("Not evaluable", row["reason"])]
    gate = f"; gate: {_words(guard)}" if guard and guard["outcome"] != "held" else ""
    paragraphs += [("Gate", f"{_words(guard)}; {guard['reason']}")] if guard else []
    return _entry(
        f"{_place(row['claim'], row)}: {outcome}{reversal}{gate}",
        row,
        setting,
        kind=row["claim"],
        heading=title,
        feature=f"{row['claim']}: {title}" if title else row["claim"],
        outcome={"verdict": outcome, **({"gate": _words(guard)} if guard else {})},
        role=role,
        paragraphs=paragraphs,
        drawn=[(row["claim"], row), *((part["name"], part) for part in row.get("components", ()))],
    )


def analysis_entry(
    name: str,
    base: str | None,
    judge: str | None,
    setting: Setting,
    *,
    title: str = "",
    role: str | None = None,
    rows: Sequence[Row] = (),
    reason: str = "",
) -> AllureEntry:
    """Return what is shown of an analysis: its rows, or the reason why there are none.

    `title` and `role` are the analysis's own, where it is known.
    """
    outcome = NOT_RUN if reason else f"{len(rows)} rows" if len(rows) != 1 else "1 row"
    given = {"base": base, "judge": judge}
    shown = {"analysis": name, **given, **({"reason": reason} if reason else {"rows": list(rows)})}
    paragraphs = [("Not run", reason)] if reason else []
    paragraphs += [(_place(row["measure"], row), _numbers(row)) for row in rows]
    return _entry(
        f"{_place(name, given)}: {outcome}",
        shown,
        setting,
        kind=name,
        heading=f"{title}{': ' if title else ''}in no verdict.",
        feature="analyses, in no verdict",
        outcome={"verdict": NOT_RUN if reason else "in no verdict"},
        role=rows[0]["role"] if rows else role,
        paragraphs=paragraphs,
        drawn=[(_place(row["measure"], row), row) for row in rows],
    )


def gate_entry(row: Row, setting: Setting) -> AllureEntry:
    """Return what is shown of a guard the gate has read."""
    details: list[tuple[str, str]] = []
    if row.get("current") is not None and row.get("baseline") is not None:
        unit = f" ({row['unit']})" if row.get("unit") else ""
        details += [("Current against baseline", f"{row['current']:.4g} against {row['baseline']:.4g}{unit}")]
    if row.get("estimate") is not None:
        details += [("Difference", _numbers(row, interval="interval at the gate's level"))]
    if row.get("method"):
        details += [("Method", row["method"])]
    if row.get("turns"):
        details += [("Example turns", ", ".join(row["turns"]))]
    return _entry(
        f"gate {_place(row['guard'], row)}: {_words(row)}",
        row,
        setting,
        kind=row["guard"],
        heading="",
        feature="gate",
        outcome={"gate": _words(row)},
        role="confirmatory",
        paragraphs=[(_words(row).capitalize(), row["reason"]), *details],
        drawn=[(row["guard"], row)],
    )


def _entry(
    title: str,
    row: Row,
    setting: Setting,
    *,
    kind: str,
    heading: str,
    feature: str,
    outcome: Mapping[str, str],
    role: str | None,
    paragraphs: Sequence[tuple[str, str]],
    drawn: Sequence[tuple[str, Row]],
) -> AllureEntry:
    simulated = setting.provenance == "simulated"
    outcomes = (words if name == "verdict" else f"gate {words}" for name, words in outcome.items())
    tags = (kind, row.get("base"), row.get("judge"), role, *outcomes, "simulated" if simulated else None)
    lines = [f"<p><strong>{SIMULATED}.</strong></p>"] if simulated else []
    lines += [f"<p>{_escaped(heading)}</p>"] if heading else []
    lines += [f"<p><strong>{_escaped(term)}</strong>: {_escaped(text)}</p>" for term, text in paragraphs]
    notes = "".join(f"<li>{_escaped(note)}</li>" for note in row.get("notes", ()))
    lines += [f"<p>Notes</p><ul>{notes}</ul>"] if notes else []
    return AllureEntry(
        title=visible(title),
        severity=severity_of(role),
        tags=tuple(dict.fromkeys(visible(tag) for tag in tags if tag)),
        labels={
            "epic": visible(setting.study),
            "feature": visible(feature),
            "story": visible(row.get("base") or "the whole corpus"),
            **outcome,
        },
        description="\n".join(lines),
        attachments=(*_drawings(drawn), _json_attachment(row)),
    )


def _words(guard: Row) -> str:
    return str(guard["outcome"]).replace("_", " ")


def _place(what: str, row: Row) -> str:
    """Return `P2 sonnet, opus`; the condition of a guarded measure belongs to its place."""
    names = filter(None, (row.get("base"), row.get("condition"), row.get("judge")))
    return f"{what} {', '.join(names)}".strip()


def _numbers(row: Row, *, interval: str = "95% interval") -> str:
    """Return the numbers a row has, in one line; an empty estimate says so."""
    shown = [signed(row["estimate"]) if row.get("estimate") is not None else "no single estimate"]
    if row.get("ci_low") is not None:
        shown.append(f"{interval} [{signed(row['ci_low'])}, {signed(row['ci_high'])}]")
    if row.get("p_value") is not None:
        shown.append(f"p = {p_value(row['p_value'])}")
    if row.get("cliffs_delta") is not None:
        shown.append(f"Cliff's delta {signed(row['cliffs_delta'], 2)}")
    if row.get("margin") is not None:
        shown.append(f"margin {row['margin']:g}, {row['worse']} is worse")
    shown += [f"{name.replace('_', ' ')} = {row[name]}" for name in ("n", "n_dropped") if row.get(name) is not None]
    return ", ".join(shown)


def _part(part: Row) -> str:
    held = "holds" if part["holds"] else "reversed" if part["reversed"] else "does not hold"
    return f"{held} ({part['direction']}); {_numbers(part)}"


def _escaped(text: str) -> str:
    return html.escape(visible(text), quote=True)


def _json_attachment(row: Row) -> Attachment:
    text = json.dumps(row, indent=1, ensure_ascii=True, allow_nan=False)
    return Attachment("row", "application/json", "json", text + "\n")


def _drawings(rows: Sequence[tuple[str, Row]]) -> tuple[Attachment, ...]:
    """Return one drawing of the rows that have an interval; none where no row has."""
    drawn = [(visible(name), row) for name, row in rows if row.get("ci_low") is not None]
    return (Attachment("forest", "image/svg+xml", "svg", forest_figure(drawn)),) if drawn else ()


# what is said of the run as a whole


def stated_message(outcome: str, reason: str) -> str:
    """Return the message of an item that came to nothing: what its category is told by."""
    return f"{outcome.capitalize()}: {reason}"


def gate_message(row: Row) -> str:
    """Return the message of an item whose guard fails the run; it begins as the gate's own does."""
    place = "/".join(filter(None, (row["base"], row.get("condition"), row.get("judge"))))
    return f"{_GATE_SAYS[row['outcome']]} {row['guard']} of {place}: {row['reason']}"


def categories() -> list[dict[str, Any]]:
    """Return the categories of what did not pass, the first that fits an item being its own.

    The patterns hold in Java (Allure 2), where they match the whole message, and in JavaScript (Allure 3), where they
    are searched for; so no `(?s)`, which only Java knows.
    """
    told = [
        ("Gate: regressed", f"{_GATE_SAYS['regressed']} "),
        ("Gate: not decided at this n", f"{_GATE_SAYS['not_decided']} "),
        ("Claims that are not evaluable", stated_message(NOT_EVALUABLE, "")),
        ("Analyses that were not run", stated_message(NOT_RUN, "")),
    ]
    by_message = [
        {"name": name, "messageRegex": rf"{beginning}[\s\S]*", "matchedStatuses": ["failed", "skipped"]}
        for name, beginning in told
    ]
    return [*by_message, {"name": "Errors of the machine", "matchedStatuses": ["broken"]}]


def environment(document: Row) -> dict[str, str]:
    """Return what the report's environment says: the data, their provenance, and whether the run is whole."""
    corpus, study, run = document["corpus"], document["study"], document["run"]
    simulated = corpus["provenance"] == "simulated"
    return {
        "Corpus": corpus["name"],
        "Provenance": SIMULATED if simulated else corpus["provenance"],
        "Corpus sha256": corpus["sha256"],
        "Study": study["name"],
        "Instrument sha256": study["instrument_sha256"],
        "Run": "; ".join(run_words(run)) or "complete",
        "Claims": f"{run['evaluated']} decided, {run['not_evaluable']} not evaluable",
        **_gate_counts(document.get("gate")),
        "Bases": ", ".join(run["bases"]),
        "Judges": ", ".join(run["judges"]),
        **{f"Version of {name}": version for name, version in run["versions"].items()},
    }


def _gate_counts(gate: Row | None) -> dict[str, str]:
    if gate is None:
        return {}
    found = [row["outcome"] for row in gate["rows"]]
    counts = ", ".join(f"{found.count(word)} {word.replace('_', ' ')}" for word in ("regressed", "not_decided", "held"))
    return {"Gate": f"{counts}; {gate['failed']} failed"}
