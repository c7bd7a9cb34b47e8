"""The page in Chromium: it opens from disk, leads where it says, fits, can be read, prints, runs nothing foreign."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.reporting.html import render_page, write_html
from pytest_tutoreval.reporting.html.slopes import corpus_slopes
from tests.reporting.documents import HOSTILE_TEXT, a_document, poisoned
from tests.reporting.html.conftest import Opened, OpenPage
from tests.reporting.html.runs import demo_document, demo_measures

# WCAG 2.1: contrast is (L1 + 0.05) / (L2 + 0.05) of relative luminances, at least 4.5, or 3 for large text (24 px, or
# 18.66 px in bold). The ground is what the ancestors paint, one over another.
CONTRAST = """() => {
  const parse = text => {
    const found = text.match(/[\\d.]+/g).map(Number);
    return text.startsWith('color(srgb')
      ? [...found.slice(0, 3).map(v => v * 255), found[3] ?? 1]
      : [...found.slice(0, 3), found[3] ?? 1];
  };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const channel = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const luminance = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const ground = element => {
    const layers = [];
    for (let node = element; node; node = node.parentElement) {
      const style = getComputedStyle(node);
      layers.push(parse(style.backgroundColor));
    }
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const low = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, style = getComputedStyle(element);
    if (!walker.currentNode.data.trim() || element.matches('script, style, title, desc')) continue;
    if (!element.checkVisibility({visibilityProperty: true})) continue;
    const under = ground(element);
    const ink = over(parse(element.ownerSVGElement ? style.fill : style.color), under);
    const [light, dark] = [luminance(ink), luminance(under)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05), size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    seen += 1;
    if (ratio < needed) low.push(`${walker.currentNode.data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return {seen, low: [...new Set(low)]};
}"""

FOREIGN = """() => {
  const script = document.createElement('script');
  script.textContent = 'window.hacked = 1';
  document.body.append(script);
  document.body.insertAdjacentHTML('beforeend', '<img src="http://127.0.0.1:9/x.png"><style>body{color:red}</style>');
  const handler = document.createElement('b');
  handler.setAttribute('onclick', 'window.hacked = 1');
  document.body.append(handler);
  handler.click();
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole report of the demo corpus, transcripts and a gate included, with a claim that is not evaluable."""
    folder = tmp_path_factory.mktemp("report")
    made_up = a_document()
    document = {**demo_document(), "gate": made_up["gate"], "not_evaluable": made_up["not_evaluable"]}
    document["not_evaluable"][0]["base"] = "mine"
    write_html(document, demo_measures(), folder)
    return folder / "report.html"


@pytest.fixture(scope="module")
def light_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report without transcripts: everything on it is this room's own."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    document = {**demo_document(), "gate": a_document()["gate"], "not_analysed": a_document()["not_analysed"]}
    figures = {
        "A figure": '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="90"><rect width="9" height="9"/></svg>'
    }
    path.write_text(
        render_page(document, viewer=None, slopes=corpus_slopes(demo_measures()), figures=figures), encoding="utf-8"
    )
    return path


def overflow(opened: Opened) -> int:
    """How many pixels the page is wider than its window."""
    return int(opened.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def test_it_opens_from_disk_without_a_word_and_asks_for_nothing(report: Path, open_page: OpenPage) -> None:
    opened = open_page(report)
    opened.page.wait_for_load_state("networkidle")
    assert opened.said == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [report.as_uri()]
    assert opened.page.title().startswith("SIMULATED: ")


def test_a_verdict_in_the_grid_leads_to_its_card(report: Path, open_page: OpenPage) -> None:
    page = open_page(report).page
    page.get_by_role("table", name="Judge opus").get_by_role("row", name="P2").get_by_role("link").nth(1).click()
    card = page.locator("article:target")
    assert card.get_attribute("id") == "P2-sonnet-opus"
    assert card.locator("h4").is_visible()
    banner = page.locator(".provenance").bounding_box()
    heading = card.locator("h4").bounding_box()
    assert banner
    assert heading
    assert heading["y"] >= banner["y"] + banner["height"]  # not behind the banner that stays on top


def test_every_link_within_the_page_has_a_target(report: Path, open_page: OpenPage) -> None:
    missing = open_page(report).page.evaluate(
        """() => [...document.querySelectorAll('a[href^="#"]:not([href^="#/"])')]
             .map(link => link.getAttribute('href').slice(1)).filter(id => !document.getElementById(id))"""
    )
    assert missing == []


def test_a_number_leads_to_its_turns_in_the_viewer(report: Path, open_page: OpenPage) -> None:
    page = open_page(report).page
    page.locator("#P2-gpt-sol").get_by_role("link", name="The turns this rests on").last.click()
    assert page.url.endswith("#/turns?base=gpt&judge=sol")
    page.wait_for_function("document.querySelector('.viewer-session').textContent.includes('gpt')")


def test_the_first_stop_of_the_keyboard_skips_to_the_content(report: Path, open_page: OpenPage) -> None:
    page = open_page(report).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator(".skip").bounding_box()["x"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_a_focused_link_is_outlined(report: Path, open_page: OpenPage) -> None:
    page = open_page(report).page
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    style = page.evaluate("(s => [s.outlineStyle, s.outlineWidth])(getComputedStyle(document.activeElement))")
    assert style == ["solid", "2px"]


def test_headings_skip_no_level_and_every_region_has_a_name(light_report: Path, open_page: OpenPage) -> None:
    page = open_page(light_report).page
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for tag in ("body > header", "main", "nav", "body > footer"):
        assert page.locator(tag).count() == 1
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('[role=region], svg[role=img], nav, aside, img')].filter(e =>
             !(e.getAttribute('aria-label') || e.getAttribute('alt') || e.querySelector(':scope > title'))).length"""
    )
    assert unnamed == 0


@pytest.mark.parametrize("width", [360, 768])
def test_a_narrow_screen_scrolls_tables_and_never_the_page(report: Path, open_page: OpenPage, width: int) -> None:
    opened = open_page(report, width=width)
    opened.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert overflow(opened) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(light_report: Path, open_page: OpenPage, scheme: str) -> None:
    opened = open_page(light_report, scheme=scheme)
    opened.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    found = opened.page.evaluate(CONTRAST)
    assert found["seen"] > 1000
    assert found["low"] == []


def test_the_schemes_differ(light_report: Path, open_page: OpenPage) -> None:
    grounds = [
        open_page(light_report, scheme=scheme).page.evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert grounds[0] == "rgb(255, 255, 255)"
    assert grounds[1] != grounds[0]


def test_paper_shows_what_is_closed_and_that_data_are_simulated(light_report: Path, open_page: OpenPage) -> None:
    page = open_page(light_report, width=700).page
    analysis = page.locator("details.analysis table").first
    assert not analysis.is_visible()
    page.emulate_media(media="print")
    assert analysis.is_visible()
    banner = page.locator(".provenance")
    assert banner.is_visible()
    assert banner.evaluate("e => getComputedStyle(e).position") == "static"
    assert page.locator("nav").is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    assert page.evaluate(CONTRAST)["low"] == []
    assert page.pdf(format="A4").startswith(b"%PDF-")


def test_details_are_opened_for_printing_and_closed_again(light_report: Path, open_page: OpenPage) -> None:
    page = open_page(light_report).page
    closed = page.locator("details.analysis:not([open])")
    before = closed.count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert (before > 0, closed.count()) == (True, 0)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert closed.count() == before


def test_everything_but_the_transcripts_works_without_script(report: Path, open_page: OpenPage) -> None:
    opened = open_page(report, java_script_enabled=False)
    page = opened.page
    assert page.locator("article.card").count() > 24
    page.get_by_role("table", name="Judge sol").get_by_role("link").nth(1).click()
    assert page.url.endswith("#P1-sonnet")
    page.locator("details.analysis summary").first.click()
    assert page.locator("details.analysis table").first.is_visible()
    assert page.locator(".viewer noscript").evaluate("e => e.innerText").startswith("The transcripts need JavaScript")


def test_the_policy_stops_what_somebody_puts_in(light_report: Path, open_page: OpenPage) -> None:
    opened = open_page(light_report)
    refused: list[str | None] = []
    opened.page.on("requestfailed", lambda request: refused.append(request.failure))
    colour = opened.page.evaluate("getComputedStyle(document.body).color")
    opened.page.evaluate(FOREIGN)
    opened.page.wait_for_timeout(100)
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.evaluate("getComputedStyle(document.body).color") == colour
    assert sum("Content Security Policy" in said for said in opened.said) >= 4
    assert refused == ["csp"]  # the image, before anything was sent


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HOSTILE_TEXT, id="all-at-once"),
        pytest.param('"><script>window.hacked=1</script><img src=x onerror="window.hacked=1">', id="elements"),
        pytest.param("javascript:window.hacked=1", id="scheme"),
        pytest.param("{{7*7}}{% raw %}${7*7}", id="template"),
        pytest.param("W" * 100_000, id="one-endless-word"),
        pytest.param("שלום " * 400 + "\u202eabc" + "👩‍👩‍👧" * 200, id="rtl-bidi-emoji"),
    ],
)
def test_hostile_text_runs_nothing_and_breaks_no_layout(open_page: OpenPage, text: str) -> None:
    document: dict[str, Any] = poisoned(a_document(), text)
    opened = open_page(render_page(document, viewer=None, figures={text: "<svg/>"}), width=360)
    page = opened.page
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    for element in page.locator("a.verdict").all()[:5]:
        element.hover()
    assert page.evaluate("window.hacked") is None
    assert opened.dialogs == []
    assert opened.said == []
    assert [url for url in opened.requests if url.startswith("http")] == []
    assert "49" not in page.locator("h1").inner_text()
    assert overflow(opened) == 0
