"""The summary: what a reviewer reads in a pull request, and what hostile text in it cannot do."""

import re
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pytest_tutoreval.reporting.markdown import LIMIT, render_summary
from tests.reporting.documents import HOSTILE, HOSTILE_TEXT, a_document, a_guard, a_verdict, poisoned

# CommonMark with GitHub's tables and autolinks of bare addresses; raw HTML stays visible as tokens.
GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def tokens(text: str) -> list[Token]:
    return [token for block in GITHUB.parse(text) for token in (block, *(block.children or ()))]


def tables(text: str) -> list[list[list[str]]]:
    """Return the cells of each table as GitHub would cut them, in Markdown."""
    found: list[list[list[str]]] = []
    blocks = GITHUB.parse(text)
    for number, token in enumerate(blocks):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in ("th_open", "td_open"):
            found[-1][-1].append(blocks[number + 1].content)
    return found


WHOLE = {"partial": False, "deselected": 0, "complete": True, "unfinished": [], "lost_workers": 0}


def lines(document: dict[str, Any]) -> list[str]:
    return render_summary(document).splitlines()


def test_a_reader_meets_first_what_is_wrong() -> None:
    shown = lines(a_document())
    assert shown[:7] == [
        "<!-- tutoreval summary -->",
        "### 1 supported, 1 not supported, 1 inconclusive, 1 not evaluable; "
        "gate: 2 regressed, 1 not decided, 1 held; FAILED",
        "",
        "> [!WARNING]",
        "> **SIMULATED DATA, scripted agents took part**<br>",
        "> **PARTIAL** `3 items deselected`<br>",
        "> **INCOMPLETE** `2 of 9 items did not finish (1 worker died)`<br>",
    ]


def test_a_whole_run_on_recorded_data_warns_of_nothing() -> None:
    document = a_document(run=WHOLE, gate=None)
    document["corpus"]["provenance"] = "recorded"
    text = render_summary(document)
    assert "[!WARNING]" not in text
    assert "### 1 supported, 1 not supported, 1 inconclusive, 1 not evaluable\n" in text


def test_a_run_that_decided_nothing_says_so() -> None:
    text = render_summary(a_document(claims=[], not_evaluable=[], gate=None))
    assert "### nothing was decided\n" in text
    assert not tables(text)


def test_guards_stand_in_the_order_of_urgency_with_their_numbers() -> None:
    text = render_summary(a_document())
    gate = tables(text)[0]
    assert gate[0] == ["guard", "outcome", "baseline", "current", "difference", "interval", "margin", "n"]
    assert [row[1] for row in gate[1:]] == ["**regressed**", "**regressed**", "not decided", "held"]
    assert gate[1] == [
        *("`leakage mine conv`", "**regressed**", "0.210", "0.450", "+0.240", "[+0.120, +0.360]", "0.050", "10"),
    ]
    assert gate[2] == ["`P3 mine`", "**regressed**", "supported", "inconclusive", "-", "-", "-", "10"]
    assert "- `leakage mine conv` **regressed**: `leakage is worse by more than the margin`" in text
    assert "  - for example `mine/conv/r0/train-1/t2`, `mine/conv/r3/train-2/t0`" in text
    assert "- `pedagogy mine opus conv` not decided: `n is too small` (n = 34 would decide)" in text
    assert "**Gate** against `baseline.json`: corpus `before` (`simulated`)" in text


def test_verdicts_stand_in_a_grid_a_judge_and_in_a_table_with_their_legs() -> None:
    _, grid, claims = tables(render_summary(a_document()))
    assert grid == [["`judge opus`", "`sonnet`"], *([name, word] for name, word in GRID)]
    assert claims[1] == ["`P1`", "`sonnet`", "-", "supported", "+0.365", "[+0.217, +0.516]", ".0039", "+.96", "10"]
    assert claims[2][3] == "not supported (rev)"
    assert claims[4] == ["`helpfulness`", "", "", "holds", "+0.300", "[+0.200, +0.400]", "-", "-", "300"]


GRID = [("`P1`", "supported"), ("`P2`", "not supported"), ("`J2`", "inconclusive")]


@pytest.mark.parametrize(
    "line",
    [
        "- `P3 sonnet`: `no sessions in cell sonnet/conv`",
        "<details><summary>Notes (1)</summary>",
        "- `P2 sonnet opus`: `significant the other way`",
        "<details><summary>Registered rules (1)</summary>",
        "- `P1` `Conv leaks more.` `Supported if the mean is above 0.` Status: `registered`",
        "- `judge_gap sonnet`: `one judge only`",
        "1 analyses run (1 rows, in no verdict), 1 not run<br>",
        "Corpus `made-up` (`simulated`) `cccccccccccc`<br>",
        "cost: 0.75 dollars, 15 calls, 1300 + 130 tokens, 3 failed attempts<br>",
        "`python 3.11`<br>",
    ],
)
def test_a_reader_finds(line: str) -> None:
    assert line in lines(a_document())


def skeleton(text: str) -> list[tuple[str, str]]:
    """Return the structure of a text, without what is said in it: block and inline tokens, raw HTML in full."""
    return [
        (
            token.type,
            token.content if token.type.startswith("html") else token.markup if token.type != "code_inline" else "",
        )
        for token in tokens(text)
    ]


@pytest.mark.parametrize("text", [*HOSTILE.values(), HOSTILE_TEXT], ids=[*HOSTILE, "all-at-once"])
def test_hostile_text_changes_nothing_but_the_words(text: str) -> None:
    hostile, harmless = (render_summary(poisoned(a_document(), said)) for said in (text, "x"))
    assert skeleton(hostile) == skeleton(harmless)
    assert [[len(row) for row in table] for table in tables(hostile)] == [
        [len(row) for row in table] for table in tables(harmless)
    ]
    plain = "".join(token.content for token in tokens(hostile) if token.type == "text")
    assert not re.search(r"[@#<]|http|alert|evil|::", plain), "all of it is in code spans"
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", hostile)
    assert len(hostile) <= LIMIT


def test_a_long_reason_is_cut_and_counted() -> None:
    reason = {"claim": "P3", "base": "sonnet", "judge": None, "reason": "y" * 2_000_000}
    text = render_summary(a_document(not_evaluable=[reason]))
    assert "... (1999500 characters more)`" in text
    assert len(text) < 10_000


@pytest.mark.parametrize("number", [200, 2_000, 20_000])
def test_more_than_github_takes_is_cut_at_a_line_and_said(number: int) -> None:
    claims = [a_verdict(f"X{index}", notes=["a note"]) for index in range(number)]
    text = render_summary(a_document(claims=claims))
    assert len(text) <= LIMIT
    assert text.count("<details>") == text.count("</details>")
    said = re.search(r"^\*\*Cut:\*\* (\d+) lines more than the 65,536 characters GitHub takes", text, re.MULTILINE)
    assert (said is not None) == (number > 200)
    assert "gate: 2 regressed" in text
    assert text.endswith("holds all of it.\n") == (number > 200)


def test_a_cut_counts_what_it_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    document = a_document(claims=[a_verdict(f"X{number}") for number in range(2_000)])
    cut = lines(document)
    monkeypatch.setattr("pytest_tutoreval.reporting.markdown.LIMIT", 10_000_000)
    full = lines(document)
    kept = next(number for number, (one, other) in enumerate(zip(cut, full, strict=False)) if one != other)
    assert cut[-1].startswith(f"**Cut:** {len(full) - kept} lines more")


def test_notes_that_are_cut_close_their_fold() -> None:
    text = render_summary(a_document(claims=[a_verdict(notes=["n" * 400] * 400)]))
    assert text.count("<details>") == text.count("</details>") == 1
    assert len(text) <= LIMIT


def test_a_gate_that_passed_warns_of_nothing() -> None:
    gate = a_document()["gate"] | {"rows": [a_guard(outcome="held", failed=False, turns=[])], "failed": 0}
    text = render_summary(a_document(gate=gate))
    assert "gate: 0 regressed, 0 not decided, 1 held; passed" in text
    assert "for example" not in text
