"""The viewer in Chromium, on a page that holds it and nothing else, under the policy its report has."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records.rating import TurnId
from pytest_tutoreval.reporting.evidence import (
    HiddenCall,
    Mark,
    ProblemEvidence,
    RatingEvidence,
    Repetition,
    Segment,
    SessionEvidence,
    TurnEvidence,
    evidence_index,
    session_evidence,
)
from pytest_tutoreval.reporting.html.csp import content_security_policy
from pytest_tutoreval.reporting.html.viewer import DATA_ID, DISAGREEMENT, build_viewer
from tests.store.corpora import DEMO, measures_of

JUDGES = ("opus", "sol")
RUBRICS = ("helpfulness", "pedagogy")

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def demo() -> CorpusMeasures:
    return measures_of(DEMO)


@pytest.fixture(scope="module")
def demo_page(demo: CorpusMeasures, tmp_path_factory: pytest.TempPathFactory) -> Path:
    sessions = [session_evidence(demo, *listing.key, JUDGES) for listing in evidence_index(demo, JUDGES)]
    return write_page(tmp_path_factory.mktemp("viewer") / "demo.html", sessions)


def write_page(path: Path, sessions: list[SessionEvidence]) -> Path:
    viewer = build_viewer(sessions)
    policy = content_security_policy(styles=[viewer.css], scripts=[viewer.script])
    path.write_text(
        f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>Transcripts</title><style>{viewer.css}</style></head><body><h2>Transcripts</h2>{viewer.markup}
<script type="application/json" id="{DATA_ID}">{viewer.data}</script>
<script>{viewer.script}</script></body></html>""",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Open a page; whatever it complains about, fetches or pops up fails the test."""
    contexts = []
    complaints: list[str] = []

    def visit(path: Path, address: str = "", **settings: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        uri = path.as_uri()
        page.on("request", lambda request: None if request.url.startswith(uri) else complaints.append(request.url))
        page.goto(uri + address)
        if settings.get("java_script_enabled", True):
            page.wait_for_selector("#viewer[data-ready]")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"))


def unfold(details: Locator) -> Locator:
    """Open what is folded; it is filled a moment later."""
    details.locator("> summary").click()
    details.locator("> :not(summary)").first.wait_for()
    return details


def counts(page: Page) -> dict[str, int]:
    shown = page.locator("[data-count]").evaluate_all("nodes => nodes.map(n => [n.dataset.count, n.textContent])")
    return {name: int(text.strip("()").replace(",", "")) for name, text in shown}


def no_overflow(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


# Filters count what the measures count.


def measured_counts(
    demo: CorpusMeasures, bases: tuple[str, ...], conditions: tuple[str, ...], judge: str | None = None
) -> dict[str, int]:
    """Count in-window tutor turns from the measures alone."""
    found: dict[str, set[tuple[str, TurnId]]] = {
        name: set() for name in ("", "leaky", "disagreement", "unusable", "gaps")
    }
    for base in bases:
        for condition in conditions:
            scores = {(j, r): demo.scores(base, condition, j, r).turns for j in JUDGES for r in RUBRICS}
            for row in (row for rows in demo.cell(base, condition).turns.values() for row in rows):
                turn = (base, row.id)
                found[""].add(turn)
                if row.leaky:
                    found["leaky"].add(turn)
                for rubric in RUBRICS:
                    given = [scores[j, rubric][row.id].value for j in JUDGES]
                    if None not in given and abs(given[0] - given[1]) > DISAGREEMENT - 1e-6:  # type: ignore[operator]
                        found["disagreement"].add(turn)
                    for j in JUDGES if judge is None else (judge,):
                        if row.id not in scores[j, rubric]:
                            found["gaps"].add(turn)
                        elif scores[j, rubric][row.id].n_usable < scores[j, rubric][row.id].n_ratings:
                            found["unusable"].add(turn)
    return {name: len(turns) for name, turns in found.items()}


BASES, ARMS = ("sonnet", "gpt", "gemini"), ("conv", "ped")


@pytest.mark.parametrize(
    ("address", "bases", "conditions", "judge"),
    [
        pytest.param("#/turns", BASES, ARMS, None, id="all"),
        pytest.param("#/turns?base=gpt&filter=leaky", ("gpt",), ARMS, None, id="base"),
        pytest.param("#/turns?base=gpt&condition=ped&filter=disagreement", ("gpt",), ("ped",), None, id="cell"),
        pytest.param("#/turns?filter=unusable&judge=sol", BASES, ARMS, "sol", id="judge"),
    ],
)
def test_each_filter_counts_what_the_measures_count(
    visit: Open,
    demo: CorpusMeasures,
    demo_page: Path,
    address: str,
    bases: tuple[str, ...],
    conditions: tuple[str, ...],
    judge: str | None,
) -> None:
    expected = measured_counts(demo, bases, conditions, judge)
    assert counts(visit(demo_page, address)) == expected
    assert expected["leaky"] > 0
    assert expected["disagreement"] > 0


def test_heading_of_the_matches_says_how_many_of_how_many(visit: Open, demo: CorpusMeasures, demo_page: Path) -> None:
    page = visit(demo_page, "#/turns?base=sonnet&condition=conv&filter=leaky")
    expected = measured_counts(demo, ("sonnet",), ("conv",))
    said = f"{expected['leaky']} of {expected['']} tutor turns in the window: leaky"
    assert page.locator(".viewer-matches h3").inner_text() == said
    assert page.locator(".viewer-match-list a").count() == expected["leaky"]


def test_long_list_of_matches_opens_in_full(visit: Open, demo: CorpusMeasures, demo_page: Path) -> None:
    page = visit(demo_page, "#/turns?filter=leaky")
    page.get_by_role("button", name="list all").click()
    assert page.locator(".viewer-match-list a").count() == measured_counts(demo, BASES, ARMS)["leaky"]
    assert page.evaluate("document.activeElement.matches('.viewer-match-list a')")


# Deep links.

LEAK = "#/turns?base=sonnet&condition=conv&replicate=0&problem=train-1&turn=0"


def test_link_to_a_turn_focuses_it(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, LEAK)
    assert focused(page) == "Tutor, turn 0, train-1"
    assert page.locator(".viewer-session h3").inner_text() == "sonnet, conv, replicate 0"
    assert page.evaluate("(r => r.top >= 0 && r.bottom <= innerHeight)(document.activeElement.getBoundingClientRect())")


def test_link_followed_on_the_open_page_focuses_its_turn(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page)
    page.evaluate("location.hash = '#/turns?base=gemini&condition=ped&replicate=7&problem=train-3&turn=2'")
    page.wait_for_selector(".viewer-turn.current")
    assert focused(page) == "Tutor, turn 2, train-3"
    assert page.locator(".viewer-session h3").inner_text() == "gemini, ped, replicate 7"


def test_link_to_a_problem_focuses_it(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, "#/turns?base=gpt&condition=ped&replicate=2&problem=delayed-2")
    assert page.evaluate("document.activeElement.dataset.problem") == "delayed-2"
    assert page.get_by_label("problem", exact=True).input_value() == "delayed-2"


def test_link_to_a_filter_focuses_the_matches(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, "#/turns?base=gpt&filter=unusable")
    assert focused(page).endswith("tutor turns in the window: unusable ratings")


def test_match_leads_to_its_turn_and_keeps_the_filter(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, "#/turns?base=gpt&condition=conv&filter=leaky")
    n = page.locator(".viewer-match-list a").count()
    page.locator(".viewer-match-list a").nth(5).click()
    page.wait_for_selector(".viewer-turn.current")
    assert page.locator(".viewer-turn.current .viewer-badge.leak").count() == 1
    assert page.locator(".viewer-match-list a").count() == n
    assert f"match 6 of {n}" in page.locator(".viewer-steps").inner_text()


def test_page_opened_at_another_anchor_stays_there(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, "#claims")
    assert page.evaluate("location.hash") == "#claims"
    assert page.evaluate("document.activeElement === document.body")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        pytest.param("#/turns?base=nobody", "base=nobody", id="base"),
        pytest.param("#/turns?base=sonnet&condition=conv&replicate=0&problem=train-9", "problem=train-9", id="problem"),
        pytest.param("#/turns?base=sonnet&condition=conv&replicate=0&turn=77", "turn=77", id="turn"),
        pytest.param("#/turns?filter=%3Cimg%20src%3Dx%3E", "filter=<img src=x>", id="markup"),
    ],
)
def test_link_to_what_is_not_there_says_so(visit: Open, demo_page: Path, address: str, said: str) -> None:
    page = visit(demo_page, address)
    assert page.locator(".viewer-status").inner_text() == f"Not among these transcripts: {said}"


def test_address_follows_the_reader_and_leads_back(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, LEAK + "&filter=leaky")
    for _ in range(3):
        page.keyboard.press("j")
    here, label = page.evaluate("location.hash"), focused(page)
    again = visit(demo_page, here)
    assert (again.evaluate("location.hash"), focused(again)) == (here, label)


# Browsing.


def test_selects_choose_a_session_and_keep_the_rest(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page)
    page.get_by_label("replicate", exact=True).select_option("4")
    page.get_by_label("condition", exact=True).select_option("ped")
    page.get_by_label("base", exact=True).select_option("gpt")
    assert page.locator(".viewer-session h3").inner_text() == "gpt, ped, replicate 4"
    assert page.evaluate("location.hash") == "#/turns?base=gpt&condition=ped&replicate=4"


def test_keys_browse_turns_problems_and_sessions(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, LEAK)
    page.keyboard.press("j")
    assert focused(page) == "Tutor, turn 1, train-1"
    page.keyboard.press("k")
    assert focused(page) == "Tutor, turn 0, train-1"
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.dataset.problem") == "train-2"
    page.keyboard.press("p")
    assert page.evaluate("document.activeElement.dataset.problem") == "train-1"
    page.keyboard.press("ArrowRight")
    assert page.locator(".viewer-session h3").inner_text() == "sonnet, conv, replicate 1"
    page.keyboard.press("ArrowLeft")
    assert page.locator(".viewer-session h3").inner_text() == "sonnet, conv, replicate 0"


def test_keys_step_through_every_match_of_a_filter(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, "#/turns?base=gpt&filter=unusable")
    links = page.locator(".viewer-match-list a").all_inner_texts()
    visited = []
    for _ in links:
        page.keyboard.press("j")
        visited.append(page.locator(".viewer-steps span").inner_text().split(",")[0].replace(" ·", ""))
    assert visited == links
    page.keyboard.press("j")
    assert page.locator(".viewer-status").inner_text() == "That was the last turn."


def test_problem_keys_walk_on_into_the_next_session(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, "#/turns?base=sonnet&condition=conv&replicate=0&problem=transfer-3")
    page.keyboard.press("n")
    assert page.locator(".viewer-session h3").inner_text() == "sonnet, conv, replicate 1"
    assert page.evaluate("document.activeElement.dataset.problem") == "train-1"
    page.keyboard.press("p")
    assert page.evaluate("document.activeElement.dataset.problem") == "transfer-3"


def test_keys_belong_to_the_control_that_has_the_focus(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, LEAK)
    page.get_by_label("problem", exact=True).focus()
    page.keyboard.press("j")
    assert page.evaluate("location.hash") == LEAK


def test_everything_is_reached_by_tab_alone(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.viewer-selects select')")
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")  # radio buttons: the arrow chooses
    assert page.locator("input[value=leaky]").is_checked()
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the first match
    page.wait_for_selector(".viewer-turn.current")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".viewer-turn.current details[open]").count() == 1


# What a session shows.


def test_leak_is_marked_where_it_stands_and_named(visit: Open, demo_page: Path) -> None:
    turn = visit(demo_page, LEAK).locator(".viewer-turn.current")
    assert turn.locator("mark.leak > span").first.inner_text() == "24"
    assert turn.locator("mark.leak .viewer-label").first.inner_text() == "leak: 24"


def test_attempt_is_marked_with_the_pattern_that_fired(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, LEAK)
    mark = page.locator("[data-problem=train-1] .student mark.attempt").first
    assert mark.locator(".viewer-label").inner_text() == "equation"
    assert mark.locator("span").first.inner_text() == "x = t"


def test_window_end_is_a_line_between_the_turns(visit: Open, demo_page: Path) -> None:
    problem = visit(demo_page, LEAK).locator("[data-problem=train-1]")
    end = problem.locator(".viewer-window-end")
    assert end.inner_text() == "window ends here: the student committed to 24 (correct)"
    assert end.evaluate("node => node.previousElementSibling.textContent.includes('FINAL ANSWER')")
    assert problem.locator(".viewer-window-end ~ .viewer-turn:not(.beyond)").count() == 0
    assert problem.locator(".viewer-turn.beyond").first.locator("header").inner_text().endswith("in no measure")


def test_every_repetition_and_its_raw_reply_open_on_demand(visit: Open, demo: CorpusMeasures, demo_page: Path) -> None:
    page = visit(demo_page, LEAK)
    ratings = page.locator(".viewer-turn.current .viewer-ratings")
    assert ratings.locator("pre").count() == 0
    unfold(ratings)
    raw = ratings.locator("pre").all_inner_texts()
    key = demo.corpus.session_keys("sonnet", "conv")[0]
    assert raw == [
        rating.raw
        for judge in JUDGES
        for rubric in RUBRICS
        for rating in demo.corpus.ratings(judge, rubric, key) or ()
        if (rating.problem, rating.turn) == ("train-1", 0)
    ]


def test_tracker_reply_is_folded_and_said_to_be_hidden(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, "#/turns?base=sonnet&condition=ped&replicate=0&problem=train-1&turn=0")
    hidden = page.locator(".viewer-turn.current .viewer-hidden")
    assert hidden.inner_text() == "hidden from the student: tracker"
    assert '"demonstrated"' in unfold(hidden).inner_text()
    assert "route hint" in page.locator(".viewer-turn.current header").inner_text()


def test_only_the_chosen_session_is_in_the_document(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page)
    assert page.locator(".viewer-problem").count() == 19
    page.keyboard.press("Tab")
    page.get_by_role("button", name="session ›").click()
    assert page.locator(".viewer-problem").count() == 19


def test_broken_session_and_session_without_text_say_why(visit: Open, tmp_path: Path) -> None:
    bare = TurnEvidence("tutor", (), in_window=True, turn=1, leaky=True, next_turn_independence=False)
    problem = ProblemEvidence("train-1", "training", "How many?", "24", True, (bare,))
    sessions = [
        SessionEvidence("sonnet", "conv", 0, broken="r0.jsonl: line 3 is <not> JSON"),
        SessionEvidence("sonnet", "conv", 1, no_text="tables only", problems=(problem,)),
    ]
    page = visit(write_page(tmp_path / "page.html", sessions), "#/turns?base=sonnet&condition=conv&replicate=0")
    assert page.locator(".viewer-notice").inner_text() == "This session cannot be read: r0.jsonl: line 3 is <not> JSON"
    page.keyboard.press("ArrowRight")
    assert page.locator(".viewer-notice").inner_text() == "tables only"
    assert page.locator(".viewer-said").inner_text() == "(no text in this corpus)"
    assert counts(page)["leaky"] == 1


def test_without_sessions_it_says_so(visit: Open, tmp_path: Path) -> None:
    page = visit(write_page(tmp_path / "page.html", []))
    assert page.locator(".viewer-status").inner_text() == "There are no sessions to show."


def test_without_javascript_it_says_what_is_missing(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, java_script_enabled=False)
    assert "need JavaScript" in page.locator("noscript").inner_text()


# Gaps and judges.


def test_gap_is_named_in_the_summary_and_explained_inside(visit: Open, tmp_path: Path) -> None:
    ratings = {
        "opus": {"helpfulness": RatingEvidence(5.0, 0.0, None, (Repetition(0, 5, "five"),))},
        "sol": {"helpfulness": RatingEvidence(gap="0 of 3 repetitions on record (helpfulness, sol)")},
    }
    turn = TurnEvidence("tutor", (Segment("Hm."),), in_window=True, turn=0, leaky=False, ratings=ratings)
    problem = ProblemEvidence("train-1", "training", "How many?", "24", True, (turn,))
    path = write_page(tmp_path / "page.html", [SessionEvidence("sonnet", "conv", 0, problems=(problem,))])
    page = visit(path, "#/turns?filter=gaps&turn=0")
    assert counts(page) == {"": 1, "leaky": 0, "disagreement": 0, "unusable": 0, "gaps": 1}
    assert page.locator(".viewer-ratings summary").inner_text().split("\n")[-1].endswith("sol not rated")
    assert "0 of 3 repetitions on record" in unfold(page.locator(".viewer-ratings")).inner_text()


def test_scores_of_thirds_that_differ_by_exactly_one_are_a_disagreement(visit: Open, tmp_path: Path) -> None:
    # 10/3 - 7/3 is 1, and 0.9999999999999996 or so in a float
    ratings = {
        "opus": {"helpfulness": RatingEvidence(10 / 3, 0.33)},
        "sol": {"helpfulness": RatingEvidence(7 / 3, 0.33)},
    }
    turn = TurnEvidence("tutor", (Segment("Hm."),), in_window=True, turn=0, leaky=False, ratings=ratings)
    problem = ProblemEvidence("train-1", "training", "How many?", "24", True, (turn,))
    path = write_page(tmp_path / "page.html", [SessionEvidence("sonnet", "conv", 0, problems=(problem,))])
    assert counts(visit(path))["disagreement"] == 1


# Hostile text.

HOSTILE = [
    pytest.param("<script>alert(1)</script>", "<script>alert(1)</script>", id="script"),
    pytest.param(
        "</script><img src=x onerror=alert(1)><!--", "</script><img src=x onerror=alert(1)><!--", id="closing"
    ),
    pytest.param("javascript:alert(1)", "javascript:alert(1)", id="url"),
    pytest.param("{{ 7*7 }} {% x %} ${7*7}", "{{ 7*7 }} {% x %} ${7*7}", id="templates"),
    pytest.param("\x1b[31mred\x1b[0m", "[U+001B][31mred[U+001B][0m", id="ansi"),
    pytest.param("a\u202eb\u2066c", "a[U+202E]b[U+2066]c", id="bidi"),
    pytest.param("\x00\x00\x00\x01\x7f\x85", "[U+0000 × 3][U+0001][U+007F][U+0085]", id="controls"),
    pytest.param("\ud800 \udfff\udc00", "[U+D800] [U+DFFF][U+DC00]", id="surrogates"),
    pytest.param("a\u2028b\u2029c\ufeff\u200bd", "a[U+2028]b[U+2029]c[U+FEFF][U+200B]d", id="separators"),
    pytest.param("\U000e0041\U000e0042", "[U+E0041][U+E0042]", id="tags"),
    pytest.param("שלום 24 مرحبا", "שלום 24 مرحبا", id="right-to-left"),
    pytest.param("👩‍🔬 é ½", "👩‍🔬 é ½", id="emoji"),
    pytest.param("a & b < c", "a & b < c", id="entities"),
]


def full_of(text: str) -> SessionEvidence:
    """A session with this text in every field that text of a model, a judge, a file or a producer reaches."""
    rating = RatingEvidence(None, None, text, (Repetition(0, None, text, (text,)),))
    turns = (
        TurnEvidence("student", (Segment(text, (Mark("attempt", text),)),), in_window=True),
        TurnEvidence(
            "tutor",
            (Segment(text, (Mark("leak", text),)),),
            in_window=True,
            turn=0,
            route=text,
            node=text,
            leaky=True,
            hidden=(HiddenCall("tracker", text, text),),
            ratings={"opus": {"helpfulness": rating}},
        ),
    )
    problem = ProblemEvidence("train-1", "training", text, "24", True, turns)
    return SessionEvidence(
        "sonnet",
        "conv",
        0,
        seed=0,
        provenance="recorded",
        producer=text,
        source=text,
        amendments=(text,),
        routes={"tutor": {"provider": text, "model": text, "sampling": {"reasoning": text}, "pin": [text]}},
        problems=(problem,),
    )


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_hostile_text_is_shown_and_nothing_else(visit: Open, tmp_path: Path, text: str, shown: str) -> None:
    page = visit(write_page(tmp_path / "page.html", [full_of(text)]), "#/turns?filter=leaky&turn=0")
    for details in page.locator(".viewer details").all():
        unfold(details)
    assert page.locator("script, img, iframe, [onerror]").count() == 2  # the page's own two scripts
    assert page.locator("mark.leak > span").first.text_content() == shown
    assert page.locator("mark.attempt > span").first.text_content() == shown
    assert page.locator(".viewer-statement").text_content() == shown
    assert page.locator("pre").evaluate_all("nodes => nodes.map(n => n.textContent)") == [shown] * 3
    for field in ("made by", "source", "amendments"):
        assert page.locator("dt", has_text=field).locator("+ dd").text_content() == shown
    assert shown in (page.locator(".viewer-turn.tutor > header").text_content() or "")
    assert shown in (page.locator(".viewer-judged p").first.text_content() or "")
    assert no_overflow(page)


def test_hostile_reason_of_a_broken_session_is_text(visit: Open, tmp_path: Path) -> None:
    reason = "</script><script>alert(1)</script>\u202e\ud800"
    page = visit(write_page(tmp_path / "page.html", [SessionEvidence("sonnet", "conv", 0, broken=reason)]))
    assert (page.locator(".viewer-notice").text_content() or "").endswith("</script>[U+202E][U+D800]")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("word " * 400_000, id="words"),
        pytest.param("x" * 2_000_000, id="one-word"),
        pytest.param("😀" * 1_000_000, id="pairs"),
    ],
)
def test_two_megabytes_are_cut_and_open_when_asked(visit: Open, tmp_path: Path, text: str) -> None:
    page = visit(write_page(tmp_path / "page.html", [full_of(text)]))
    said = page.locator(".viewer-turn.student .viewer-said")
    assert len(said.text_content() or "") < 50_000
    assert "[U+" not in (said.text_content() or "")
    assert no_overflow(page)
    said.get_by_role("button", name="show all (2,000,000 characters)").click()
    assert said.evaluate("(node, length) => node.textContent.length >= length", 2_000_000)


def test_turn_of_either_direction_is_isolated(visit: Open, tmp_path: Path) -> None:
    page = visit(write_page(tmp_path / "page.html", [full_of("שלום")]))
    said = page.locator(".viewer-said").first
    assert said.get_attribute("dir") == "auto"
    assert said.evaluate("node => getComputedStyle(node).unicodeBidi") == "plaintext"
    assert said.evaluate("node => getComputedStyle(node).direction") == "rtl"


# Screens.


@pytest.mark.parametrize("address", ["", LEAK, "#/turns?base=sonnet&condition=conv&filter=disagreement"])
def test_phone_needs_no_sideways_scrolling(visit: Open, demo_page: Path, address: str) -> None:
    page = visit(demo_page, address, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    for details in page.locator(".viewer-ratings, .viewer-hidden").all()[:4]:
        unfold(details)
    assert no_overflow(page)


def test_print_holds_the_session_and_no_control(visit: Open, demo_page: Path) -> None:
    page = visit(demo_page, LEAK)
    page.emulate_media(media="print")
    assert page.locator(".viewer-session h3").is_visible()
    assert page.locator(".viewer-turn").last.is_visible()
    assert [page.locator(css).is_visible() for css in (".viewer-tools", ".viewer-steps")] == [False, False]


# Every text node's colour against the nearest opaque background, as WCAG computes it.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (v) => (v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  const light = (c) => { const [r, g, b] = c.map((v) => linear(v / 255)); return .2126 * r + .7152 * g + .0722 * b; };
  const poor = [];
  const walker = document.createTreeWalker(document.getElementById("viewer"), NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const parent = node.parentElement;
    if (!node.data.trim() || !parent.checkVisibility() || parent.closest("button:disabled, option, noscript")) continue;
    let behind = parent, back;
    while ((back = rgb(getComputedStyle(behind).backgroundColor))[3] < 255) behind = behind.parentElement;
    const [a, b] = [light(rgb(getComputedStyle(parent).color)), light(back)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) poor.push(`${parent.className || parent.tagName}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(visit: Open, demo_page: Path, scheme: str) -> None:
    page = visit(demo_page, LEAK + "&filter=disagreement", color_scheme=scheme)
    for details in page.locator(".viewer-ratings").all()[:2]:
        unfold(details)
    assert page.evaluate(CONTRAST) == []
