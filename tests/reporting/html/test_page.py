"""What the page says, without a browser: the words, the links, the policy, the bytes."""

import json
import re
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from pytest_tutoreval.reporting.html import render_page, render_transcript_page, write_html
from pytest_tutoreval.reporting.html.csp import content_security_policy
from pytest_tutoreval.reporting.html.slopes import corpus_slopes
from pytest_tutoreval.reporting.html.viewer import TranscriptPage, Viewer, plan_pages
from pytest_tutoreval.reporting.words import count_outcomes
from tests.reporting.documents import HOSTILE, a_document, a_guard, a_verdict, poisoned
from tests.reporting.html.runs import demo_document, demo_measures

VIEWER = Viewer(Markup('<div id="viewer"></div>'), "#viewer { margin: 0; }", "window.shown = 1;", '{"a":1}')

ATTACKS = {
    **HOSTILE,
    "handler": '" onmouseover="window.hacked=1" x=\'',
    "elements": "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1></style><svg onload=1>",
    "scheme": "javascript:window.hacked=1",
    "surrogate": "a\ud800b\udfff",
    "long": "\N{GRINNING FACE}x" * 50_000,
}


class Page(HTMLParser):
    """A page read back: its elements in order, its attributes, its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside not in ("style", "script") and data.strip():
            self.words.append(" ".join(data.split()))

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def values(self, name: str) -> list[str]:
        return [value for attribute, value in self.attributes if attribute == name and value is not None]


def read(document: dict[str, Any], **given: Any) -> Page:
    return Page(render_page(document, **{"viewer": None} | given))


# What a reader needs.


def test_counts_are_those_of_every_other_report() -> None:
    page = render_page(demo_document(), viewer=None)
    summary = re.search(r'<ul class="summary".*?</ul>', page, re.DOTALL)
    assert summary
    shown = re.findall(r'<li class="(\w+)"><b>(\d+)</b>', summary[0])
    assert {word: int(number) for word, number in shown} == count_outcomes(demo_document())
    assert page.count('<article class="card ') == len(demo_document()["claims"]) == 24


def test_simulated_data_are_called_so_in_title_banner_and_beside_every_number() -> None:
    page = render_page(a_document(), viewer=None)
    assert "<title>SIMULATED: " in page
    assert '<aside class="provenance loud"' in page
    headings = re.findall(r"<h2[^>]*>.*?</h2>", page)
    assert sum("simulated-tag" in heading for heading in headings) == len(headings) - 1  # the run has no numbers
    assert len(re.findall(r'<article class="card [^>]*id=.*?</article>', page, re.DOTALL)) == 3
    for card in re.findall(r'<article class="card [^>]*id=.*?</article>', page, re.DOTALL):
        assert "simulated-tag" in card


def test_recorded_data_are_not_called_simulated() -> None:
    corpus = a_document()["corpus"] | {"provenance": "recorded"}
    gate = a_document()["gate"] | {"baseline": {}}
    page = read(a_document(corpus=corpus, gate=gate))
    assert "simulated" not in page.text.lower()
    assert "recorded data" in page.text


def test_a_run_that_is_not_whole_says_why_on_top() -> None:
    page = read(a_document())
    assert "PARTIAL: 3 items deselected" in page.text
    assert "INCOMPLETE: 2 of 9 items did not finish (1 worker died)" in page.text
    assert page.text.index("INCOMPLETE") < page.text.index("Verdicts")
    assert "t::a" in page.text


def test_a_failed_gate_says_so_on_top_and_a_passed_one_does_not() -> None:
    assert "GATE FAILED: 2 of 4 guards fail this run" in read(a_document()).text
    gate = a_document()["gate"] | {"failed": 0}
    assert "GATE FAILED" not in read(a_document(gate=gate)).text
    assert "Gate" not in read(a_document(gate=None)).text


def test_what_regressed_comes_before_what_held() -> None:
    section = re.search(r'<section id="gate".*?</section>', render_page(a_document(), viewer=None), re.DOTALL)
    assert section
    outcomes = re.findall(r'<article class="card (\w+)"', section[0])
    assert outcomes == ["regressed", "regressed", "inconclusive", "supported"]
    text = Page(section[0]).text
    for word in ("leakage is worse by more than the margin", "0.210", "0.450", "+0.240", "[+0.120, +0.360]", "0.050"):
        assert word in text


def test_a_gate_links_its_example_turns() -> None:
    hrefs = read(a_document(), viewer=VIEWER).values("href")
    assert "#/turns?base=mine&condition=conv&replicate=0&problem=train-1&turn=2" in hrefs


def test_a_cell_leads_to_its_card_and_an_error_to_its_reason() -> None:
    page = read(a_document())
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    local = [href[1:] for href in page.values("href") if href.startswith("#") and not href.startswith("#/")]
    assert {*local} <= {*ids}
    assert {"P1-sonnet", "P2-sonnet-opus", "J2-sonnet-opus"} <= {*local}
    assert "no sessions in cell sonnet/conv" in page.text


def test_a_card_holds_everything_about_its_verdict() -> None:
    page = render_page(a_document(), viewer=None)
    card = re.search(r'<article class="card [^>]*id="P1-sonnet".*?</article>', page, re.DOTALL)
    assert card
    words = Page(card[0]).text
    for word in (
        *("supported", "+0.365", "[+0.217, +0.516]", ".0039", "+0.96", "conv > ped", "confirmatory", "registered"),
        *("Supported if the mean is above 0.", "evidence visible then none", "dropped 0", "n 10"),
    ):
        assert word in words


def test_a_claim_nobody_describes_still_states_its_direction() -> None:
    document = a_document(registrations=[], claims=[a_verdict("X1", direction="ped > conv")])
    assert "Registered rule. ped > conv" in read(document).text


def test_a_reversed_verdict_says_so() -> None:
    assert "not supported (reversed)" in read(a_document()).text


def test_names_that_share_their_letters_keep_their_own_places() -> None:
    claims = [a_verdict(base=base) for base in ("a/b", "ab", "a b", "\N{SNOWMAN}", "\N{COMET}")]
    ids = read(a_document(claims=claims)).values("id")
    assert len(ids) == len(set(ids))


def test_candidates_are_drawn_as_candidate_minus_reference() -> None:
    kept = ("estimate", "ci_low", "ci_high", "p_value", "cliffs_delta", "se", "n", "n_dropped")
    candidate = {
        **{key: a_verdict()[key] for key in kept},
        **{"name": "mine", "direction": "mine > base", "holds": True, "reversed": False, "verdict": None},
        "p_adjusted": 0.0078125,
    }
    claim = a_verdict("M1", components=[candidate], direction="candidates > reference", margin=0.1)
    words = read(a_document(claims=[claim])).text
    assert "mine \N{MINUS SIGN} reference" in words
    assert "p, adjusted .0078" in words
    assert "registered: mine > base \N{RIGHTWARDS ARROW}" in words


def test_minus_is_a_minus_sign() -> None:
    words = read(a_document(claims=[a_verdict(estimate=-0.25, ci_low=-0.5, ci_high=-0.125)])).text
    assert "\N{MINUS SIGN}0.250" in words
    assert "-0.250" not in words


def test_analyses_leave_empty_columns_out_and_keep_their_notes() -> None:
    words = read(a_document()).text
    assert "Turns per session, their gap, and leaky turns by condition" in words
    assert "counted" in words
    assert "one judge only" in words
    assert "p, Holm" not in words


def test_a_lower_value_is_worse_on_the_left_of_zero() -> None:
    guard = a_guard(guard="pedagogy", worse="lower", margin=0.25, estimate=-0.5, ci_low=-1.0, ci_high=0.0)
    page = render_page(a_document(gate=a_document()["gate"] | {"rows": [guard]}, claims=[]), viewer=None)
    # From -1 to 0 in at most five steps of 0.2: -0.25 stands at 4 + 92 * 3/4 = 73 %, zero at 96 %.
    assert '<line class="zero" x1="96.00%"' in page
    assert '<line class="margin" x1="73.00%"' in page


def test_a_time_of_no_era_is_left_out() -> None:
    assert "1970-01-01 00:00:01 UTC" in read(a_document()).text
    assert "UTC" not in read(a_document(run={"started": 1e300})).text


def test_an_older_document_is_shown_without_what_it_lacks() -> None:
    old = {key: value for key, value in a_document().items() if key not in ("registrations", "gate")}
    for key in ("id", "corpus_folder", "stopped", "lost_workers", "last_failed", "interrupted"):
        old["run"].pop(key)
    assert "conv-vs-ped" in read(old).text


# Where numbers lead.


def test_numbers_lead_to_the_turns_they_rest_on() -> None:
    measured = [row | {"measure": "leakage"} for row in a_document()["registrations"]]
    hrefs = read(a_document(registrations=measured), viewer=VIEWER).values("href")
    assert "#/turns?base=sonnet&filter=leaky" in hrefs
    assert "#/turns?base=sonnet&judge=opus" in hrefs


def test_without_transcripts_no_number_leads_anywhere() -> None:
    page = read(a_document(), no_transcripts="the corpus holds tables only")
    assert not [href for href in page.values("href") if "turns" in href]
    assert "No transcripts: the corpus holds tables only." in page.text


def test_pages_of_transcripts_are_listed_and_linked() -> None:
    pages = [TranscriptPage(f"transcripts/{base}.html", base, "conv", (0, 1)) for base in ("sonnet", "mine")]
    hrefs = read(a_document(), pages=pages).values("href")
    assert "transcripts/sonnet.html#/turns?base=sonnet&judge=opus" in hrefs
    assert "transcripts/mine.html#/turns?base=mine&condition=conv&replicate=0&problem=train-1&turn=2" in hrefs
    assert "transcripts/sonnet.html#/turns" in hrefs


def test_a_page_of_transcripts_leads_back_and_says_what_it_is_made_of() -> None:
    page = Page(render_transcript_page("sonnet conv", VIEWER, a_document(), report="../report.html"))
    assert "../report.html" in page.values("href")
    assert "Simulated data" in page.text
    assert "INCOMPLETE" in page.text


def test_a_large_corpus_is_written_as_a_report_and_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measures = demo_measures()
    few = partial(plan_pages, inline_sessions=10)
    monkeypatch.setattr("pytest_tutoreval.reporting.html.viewer.plan_pages", few)
    names = write_html(demo_document(), measures, tmp_path)
    assert names[0] == "report.html"
    assert len(names) == 1 + 9  # three bases, three conditions
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")) == sorted(names)
    hrefs = Page((tmp_path / "report.html").read_text(encoding="utf-8")).values("href")
    targets = {href.partition("#")[0] for href in hrefs if "#/turns" in href}
    assert targets == {*names[1:]}
    for name in names[1:]:
        back = Page((tmp_path / name).read_text(encoding="utf-8")).values("href")
        assert any((tmp_path / name).parent.joinpath(href).resolve() == tmp_path / "report.html" for href in back)


def test_the_report_of_the_demo_is_one_file_with_its_transcripts(tmp_path: Path) -> None:
    assert write_html(demo_document(), demo_measures(), tmp_path) == ["report.html"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="tutoreval-evidence">(.*?)</script>', page, re.DOTALL)
    assert data
    assert len(json.loads(data[1])["sessions"]) == 90


def test_without_the_corpus_the_page_says_what_is_missing(tmp_path: Path) -> None:
    write_html(a_document(), None, tmp_path)
    words = Page((tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert "No transcripts: rendered from verdicts.json alone" in words
    assert "No figures of the sessions: rendered from verdicts.json alone" in words


def test_figures_made_elsewhere_are_images() -> None:
    svg = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>window.hacked=1</script></svg>'
    page = read(a_document(), figures={"Figure 1": svg})
    (source,) = page.values("src")
    assert source.startswith("data:image/svg+xml;base64,")
    assert page.values("alt") == ["Figure 1"]


# What a page may do.


def test_the_policy_names_the_digest_of_what_is_inline() -> None:
    # The digest of nothing is known to everyone: sha256("") in base64.
    empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    assert content_security_policy(styles=[""], scripts=[]) == (
        f"default-src 'none'; script-src 'none'; style-src 'sha256-{empty}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_a_carriage_return_is_refused_since_a_browser_would_read_another_text() -> None:
    with pytest.raises(ValueError, match="carriage return"):
        content_security_policy(styles=["a\r\nb"], scripts=[])


def test_a_page_names_nothing_outside_itself() -> None:
    page = read(demo_document(), viewer=VIEWER, slopes=corpus_slopes(demo_measures()))
    for name in ("href", "src", "action", "srcset", "xlink:href"):
        assert all(value.startswith(("#", "data:")) for value in page.values(name))


@pytest.mark.parametrize("name", ATTACKS)
def test_hostile_text_in_every_field_changes_no_element(name: str) -> None:
    plain, hostile = (poisoned(a_document(), text) for text in ("plain", ATTACKS[name]))
    viewer = None if name == "surrogate" else VIEWER  # no address can name a lone surrogate, so there it is no link
    given: dict[str, Any] = {"viewer": viewer, "figures": {ATTACKS[name]: "<svg/>"}}
    page = render_page(hostile, **given)
    assert Page(page).tags == read(plain, **given).tags
    attributes = Page(page).attributes
    assert not [key for key, _ in attributes if key.startswith("on")]
    assert not [value for key, value in attributes if key in ("href", "src") and str(value).startswith("javascript")]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page)
    page.encode("utf-8")


def test_text_without_end_is_cut_and_the_rest_counted() -> None:
    page = render_page(poisoned(a_document(), "x" * 100_000), viewer=None)
    assert "(98000 characters more)" in page
    assert len(page) < 1_000_000
