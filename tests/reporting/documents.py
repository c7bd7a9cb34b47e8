"""A small document made by hand, with one of everything, and the same one with hostile text in every field."""

import copy
from collections.abc import Callable
from typing import Any

__all__ = ["HOSTILE", "HOSTILE_TEXT", "a_document", "a_guard", "a_verdict", "poisoned"]

NUMBERS: dict[str, Any] = dict.fromkeys(
    ("estimate", "ci_low", "ci_high", "p_value", "cliffs_delta", "se", "n", "n_dropped")
)

# What a model or a file may have written, each against another reader. No lone surrogate: no document can hold one.
HOSTILE: dict[str, str] = {
    "script": "<script>alert(1)</script></td></details><!--",
    "markdown": "**b** `code`` [x](javascript:alert(1)) ![i](http://evil.example/i.png) | a | b |",
    "mention": "@octocat #1 GH-1 org/repo#2 http://evil.example/ a@evil.example",
    "fence": "```\n# heading\n- item\n</details>\n\n> quote\n| a | b |\n|---|---|",
    "ansi": "\x1b[2J\x1b]0;title\x07\x1b[31mred\x9b31m\r\rback\x08\x08",
    "bidi": "abc\u202egnp.exe\u2066\u200f\u061c",
    "nul": "a\x00b\x01c\x7f\x85\u2028\u2029",
    "workflow": "\n::error title=x::y\n::stop-commands::z\n##[add-mask]q %0A::set-env::",
    "template": "{{7*7}} {% raw %} ${x} %s {0}",
    "rtl-emoji": "שלום 👩‍👩‍👧 \U000e0041 zero\u200bwidth \ufeff",
    "formula": '=HYPERLINK("http://evil.example")',
    "backticks": "`" * 7 + " x " + "`" * 3,
    "long": "x" * 2_000_000,
}
HOSTILE_TEXT = " ".join(text for name, text in HOSTILE.items() if name != "long")


def a_verdict(claim: str = "P1", base: str = "sonnet", judge: str | None = None, **changes: Any) -> dict[str, Any]:
    """A supported paired claim."""
    given: dict[str, Any] = {
        **NUMBERS,
        **{"estimate": 0.365, "ci_low": 0.217, "ci_high": 0.516, "p_value": 0.00390625, "cliffs_delta": 0.96},
        **{"n": 10, "n_dropped": 0, "claim": claim, "base": base, "judge": judge},
        **{"verdict": "supported", "reversed": False, "role": "confirmatory", "status": "registered"},
        **{"direction": "conv > ped", "margin": None, "components": [], "notes": []},
    }
    return given | changes


def a_leg(name: str, **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {**NUMBERS, "name": name, "direction": "positive", "holds": True, "reversed": False}
    return given | {"verdict": None} | changes


def a_guard(**changes: Any) -> dict[str, Any]:
    """A guarded measure that regressed."""
    given: dict[str, Any] = {
        **{"kind": "measure", "guard": "leakage", "base": "mine", "judge": None, "condition": "conv"},
        **{"baseline_base": None, "unit": "share of turns", "outcome": "regressed", "failed": True},
        **{"reason": "leakage is worse by more than the margin", "verdict_before": None, "verdict_now": None},
        **{"baseline": 0.21, "current": 0.45, "estimate": 0.24, "ci_low": 0.12, "ci_high": 0.36, "margin": 0.05},
        **{"worse": "higher", "p_regressed": 0.002, "p_held": 1.0, "n": 10, "n_dropped": 0, "n_needed": None},
        **{"method": "exact", "turns": ["mine/conv/r0/train-1/t2", "mine/conv/r3/train-2/t0"]},
    }
    return given | changes


def a_document(**changes: Any) -> dict[str, Any]:
    """Verdicts, a claim that is not evaluable, an analysis, a gate with each outcome; a partial run that lost a worker.

    Keyword arguments replace sections; `run` is merged into the run's section.
    """
    held = a_guard(guard="independence", outcome="held", failed=False, reason="not worse by the margin", turns=[])
    undecided = a_guard(
        guard="pedagogy",
        judge="opus",
        outcome="not_decided",
        failed=False,
        reason="n is too small",
        n_needed=34,
        turns=[],
    )
    verdict = a_guard(
        kind="verdict", guard="P3", condition=None, reason="was supported, now inconclusive", turns=[], unit=None
    )
    verdict |= {"verdict_before": "supported", "verdict_now": "inconclusive", **dict.fromkeys(_GUARD_NUMBERS)}
    given: dict[str, Any] = {
        "format": "tutoreval-verdicts/1",
        "study": {"name": "conv-vs-ped", "instrument_sha256": "7" * 64},
        "corpus": {"name": "made-up", "provenance": "simulated", "sha256": "c" * 64, "notes": ["a note"]},
        "registrations": [
            {
                **{"claim": "P1", "title": "Conv leaks more.", "form": "paired_contrast", "kind": "manipulation_check"},
                **{"judge_bound": False, "role": "confirmatory", "status": "registered", "evidence_visible": "none"},
                "rule": "Supported if the mean is above 0.",
            }
        ],
        "claims": [
            a_verdict(),
            a_verdict("P2", judge="opus", verdict="not_supported", reversed=True, notes=["significant the other way"]),
            a_verdict(
                "J2",
                judge="opus",
                verdict="inconclusive",
                components=[a_leg("helpfulness", estimate=0.3, ci_low=0.2, ci_high=0.4, n=300)],
                **NUMBERS,
            ),
        ],
        "not_evaluable": [
            {"claim": "P3", "base": "sonnet", "judge": None, "reason": "no sessions in cell sonnet/conv"}
        ],
        "analyses": [
            {
                **{**NUMBERS, "p_holm": None, "analysis": "exposure", "base": "sonnet", "judge": None},
                **{"measure": "turns", "role": "descriptive", "components": [], "notes": ["counted"]},
            }
        ],
        "not_analysed": [{"analysis": "judge_gap", "base": "sonnet", "judge": None, "reason": "one judge only"}],
        "gate": {
            "settings": {"alpha": 0.05, "undecided": "warn", "multiplicity": "holm", "sequential": None},
            "baseline": {"path": "baseline.json", "sha256": "b" * 64, "corpus": "before", "provenance": "simulated"},
            "rows": [held, undecided, a_guard(), verdict],
            "failed": 2,
        },
        "cost": {
            **{"runs": 1, "calls": 15, "failed_attempts": 3, "input_tokens": 1300, "output_tokens": 130},
            "dollars": 0.75,
        },
        "run": {
            **{"id": "f" * 32, "started": 1.0, "seconds": 2.0, "complete": False, "partial": True},
            **{"interrupted": False, "stopped": None, "lost_workers": 1, "last_failed": False, "selected": 9},
            **{"deselected": 3, "unfinished": ["t::a", "t::b"], "evaluated": 3, "not_evaluable": 1, "analysed": 1},
            **{"not_analysed": 1, "bases": ["sonnet"], "judges": ["opus"], "corpus_folder": "corpora/made-up"},
            **{"versions": {"python": "3.11"}, "not_written": [], "outputs": {}},
        },
    }
    run = given["run"] | changes.pop("run", {})
    return {**given, **changes, "run": run}


_GUARD_NUMBERS = ("baseline", "current", "estimate", "ci_low", "ci_high", "margin", "worse", "p_regressed", "p_held")

# Closed words and what is checked to be a digest or a format; everything else in a document is free text.
_CLOSED = {
    "format",
    "verdict",
    "verdict_before",
    "verdict_now",
    "outcome",
    "kind",
    "worse",
    "undecided",
    "multiplicity",
}
_DIGESTS = {"sha256", "instrument_sha256", "outputs", "provenance"}


def poisoned(document: dict[str, Any], text: str) -> dict[str, Any]:
    """Return a document with a text in every field that is not a number, a closed word or a digest."""
    changed: dict[str, Any] = _poison(copy.deepcopy(document), lambda _: text)
    return changed


def _poison(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {
            key: item
            if key in _CLOSED | _DIGESTS and not (key == "kind" and "rule" in value)
            else _poison(item, change)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_poison(item, change) for item in value]
    return change(value) if isinstance(value, str) else value
