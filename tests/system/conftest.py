"""A browser, once per file of tests, and visits that tolerate no error and no network."""

from __future__ import annotations

import pytest

from system.browsing import ARGUMENTS, CHROMIUM, DESKTOP


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, files):
    """Open a page of some size; at the end there must have been no error and no request but for the page itself."""
    trouble, opened = [], []

    def go(name, size=DESKTOP, **more):
        page = browser.new_page(viewport=dict(zip(("width", "height"), size, strict=True)), **more)
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: trouble.append(request.url) if "/pages" not in request.url else None)
        page.goto((files / f"{name}.html").as_uri())
        opened.append(page)
        return page

    yield go
    for page in opened:
        page.close()
    assert trouble == []
