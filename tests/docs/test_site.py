"""The site is built without a warning, leads nowhere that is not there, and loads nothing from elsewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tests.docs.pages import DOCS, PAGES, README, ROOT

# What a browser fetches by itself when a page is opened.
FETCHED = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "use": ("href", "xlink:href"),
}


class Page(HTMLParser):
    """What a page fetches, where it leads, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.leads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.fetched += [given[name] for name in FETCHED.get(tag, ()) if name in given]
        if tag == "a" and "href" in given:
            self.leads.append(given["href"])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stderr
    return folder


def pages_of(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = pages_of(site)
    assert len(pages) >= len(PAGES) - 1
    for path, page in pages.items():
        assert [url for url in page.fetched if urlsplit(url).scheme or url.startswith("//")] == [], path
    for path in (*site.rglob("*.css"), *site.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        styles = re.findall(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)", text)
        assert [url for found in styles for url in found if re.match(r"(https?:)?//", url)] == [], path


def test_every_link_of_the_site_leads_to_a_page_and_an_anchor(site: Path) -> None:
    pages = pages_of(site)
    for path, page in pages.items():
        if path.name == "404.html":  # served from anywhere, so its links are absolute
            continue
        for link in page.leads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.relative_to(site)}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{path.relative_to(site)}: {link}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    listed = re.findall(r"[\w./-]+\.md", str(navigation))
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_the_links_of_the_readme_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#]+)", README.read_text(encoding="utf-8"))
    assert len(links) >= 5
    assert [link for link in links if not urlsplit(link).scheme and not (ROOT / link).exists()] == []


def test_the_make_target_builds_what_is_tested_here() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^docs:.*\n\t.*mkdocs build --strict", makefile, re.MULTILINE)
    assert re.search(r"^(test|check):.* docs\b", makefile, re.MULTILINE)
