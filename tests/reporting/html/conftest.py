"""Chromium, the distribution's own, and pages opened in it from disk."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, sync_playwright

__all__ = ["OpenPage", "Opened"]

_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


@dataclass
class Opened:
    """A page, and everything it said, asked for and popped up since it was opened."""

    page: Page
    said: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


OpenPage = Callable[..., Opened]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for one module: while it lives, its event loop would refuse any other that runs in this thread."""
    executable = os.environ.get("TUTOREVAL_CHROMIUM", "/usr/bin/chromium")
    if not Path(executable).exists():
        message = f"{executable}: no Chromium; install the distribution's package or set TUTOREVAL_CHROMIUM to one"
        if os.environ.get("TUTOREVAL_REQUIRE_SHARED") == "1":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(_ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[OpenPage]:
    """Open HTML text, or a file, at a width and in a colour scheme."""
    contexts: list[BrowserContext] = []

    def open_page(source: str | Path, *, width: int = 1280, scheme: Any = "light", **settings: Any) -> Opened:
        path = source if isinstance(source, Path) else tmp_path / f"page-{len(contexts)}.html"
        if isinstance(source, str):
            path.write_text(source, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **settings)
        contexts.append(context)
        opened = Opened(context.new_page())

        def dismiss(dialog: Dialog) -> None:
            opened.dialogs.append(dialog.message)
            dialog.dismiss()

        opened.page.on("console", lambda message: opened.said.append(message.text))
        opened.page.on("pageerror", lambda error: opened.said.append(str(error)))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.on("dialog", dismiss)
        opened.page.goto(path.as_uri())
        return opened

    yield open_page
    for context in contexts:
        context.close()
