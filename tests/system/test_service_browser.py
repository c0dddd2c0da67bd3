"""The page of a source in a real browser: choose, see the table or the reason, download; with a key; on a phone."""

import re
import threading

import pytest

from source_folders import make_two_groupings
from system.browsing import CONTRAST, DESKTOP, NEEDS_BROWSER, PHONE

pytest.importorskip("fastapi")

from cellguard.faces.service.keys import new_key
from cellguard.faces.service.serve import Server

pytestmark = NEEDS_BROWSER
HARMLESS = re.compile("status of (401|422)")


@pytest.fixture
def serve(tmp_path):
    """Serve the source of two groupings; it ends with the test."""
    begun = []
    home = make_two_groupings(tmp_path, title="Firms of a town")

    def start(**more):
        server = Server(home, **more)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        begun.append((server, thread))
        return server.address, home

    yield start
    for server, thread in begun:
        server.stop()
        thread.join(10)


@pytest.fixture
def page_of(browser):
    """Open a page of some size; at the end there must have been no error and no request to anywhere else."""
    trouble, opened = [], []

    def go(address, size=DESKTOP, **more):
        page = browser.new_page(viewport=dict(zip(("width", "height"), size, strict=True)), **more)
        page.set_default_timeout(90_000)  # a machine may be busy
        page.on("console", lambda m: None if m.type != "error" or HARMLESS.search(m.text) else trouble.append(m.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith((address, "blob:")) else trouble.append(r.url))
        page.goto(address)
        opened.append(page)
        return page

    yield go
    for page in opened:
        page.close()
    assert trouble == []


def test_a_table_is_chosen_seen_and_downloaded(serve, page_of):
    address, _ = serve(open_to_all=True)
    page = page_of(address, accept_downloads=True)
    page.get_by_label("What is summed").select_option("y")
    page.get_by_label("z1", exact=True).check()
    page.get_by_role("button", name="Show the table").click()
    page.get_by_role("heading", name="y by z1").wait_for()
    assert page.locator("tbody tr").count() == 3 and page.title() == "Firms of a town"
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download csv", exact=True).click()
    assert waiting.value.path().read_text().startswith("z1,value,flag")
    page.get_by_label("z1", exact=True).uncheck()
    page.get_by_label("z2", exact=True).check()
    page.get_by_role("button", name="Show the table").click()
    page.get_by_text("2 cells are not shown").wait_for()
    assert page.locator("td.gone").count() == 2
    page.get_by_label("only records of one z1").select_option("P")
    page.get_by_label("only records of one z2").select_option("W")
    page.get_by_role("button", name="Show the table").click()
    page.get_by_text("leaves nobody").wait_for()
    assert "Not checked: coalitions" in page.locator("footer").inner_text()
    assert page.evaluate(CONTRAST) == []


def test_a_key_is_asked_for_and_a_phone_shows_everything(serve, page_of):
    address, home = serve()
    server_key = new_key(home, "ann")
    address, _ = serve()  # keys are read at the start
    page = page_of(address, PHONE, color_scheme="dark")
    page.get_by_label("Your key").fill("wrong")
    page.get_by_role("button", name="Enter").click()
    page.get_by_text("This key is not known.").wait_for()
    page.get_by_label("Your key").fill(server_key)
    page.keyboard.press("Enter")
    page.get_by_label("size", exact=True).check()
    page.get_by_role("button", name="Show the table").click()
    page.locator("table").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert page.evaluate(CONTRAST) == []
