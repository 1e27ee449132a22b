# SPDX-License-Identifier: Apache-2.0
"""Pages of the site in a real browser: on a narrow screen, contrast, alternative texts, links, the search."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.runs import campaign
from rdcnlab.runs.store import Store
from rdcnlab.system import extras
from rdcnlab_papers import aykurt
from rdcnlab_papers.app.site import build
from tests.app import pages
from tests.conftest import Shared, wait_for
from tests.pool_here import PoolHere

pytestmark = pytest.mark.slow

#: Pages of each kind: the report, a section, a tutorial, a wide reference, a decision with tables, a notebook.
PAGES = (
    "index.html",
    "figures.html",
    "papers.html",
    "papers/aykurt.html",
    "docs/tutorial/1-first-scenario.html",
    "docs/reference/scenario.html",
    "docs/decisions/vargas.html",
    "docs/explanation/virtual-time.html",
    "notebooks/aykurt/fig8a.html",
)


@pytest.fixture(scope="module")
def site(shared: Shared) -> Path:
    """The site with the documents as they are, and one executed notebook; all workers read the same."""
    if not extras.is_installed("site"):
        pytest.skip(f"the site's programs are missing: {extras.command('site')}")
    return Path((shared("site", build_site) / "first page").read_text()).parent


def build_site(folder: Path) -> None:
    here = str(Path(__file__).parents[2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RDCNLAB_ENGINE", "fake_engine:FakeEngine")
        patch.setenv("PYTHONPATH", os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
        patch.syspath_prepend(here)
        patch.setenv("RDCNLAB_RESULTS", "none")
        patch.setenv("RDCNLAB_STORE", str(folder / "runs"))
        patch.setattr(campaign, "LocalPool", PoolHere)
        aykurt.fig8a().run(progress=False)
        page = build.build([aykurt.fig8a], Store(), folder / "out").page
    (folder / "first page").write_text(str(page))


@pytest.mark.parametrize("width", [390, 1366])
def test_pages_fit_the_screen_and_can_be_read(site: Path, browser: Any, width: int) -> None:
    pages.resize(browser, width)
    for name in PAGES:
        browser.get((site / name).as_uri())
        assert pages.overflow_px(browser, width) <= 0, name
        assert pages.faint(browser) == [], name
        pictures = browser.find_elements("css selector", "main img:not(.rl-tile img)")
        assert [each.get_attribute("src") for each in pictures if not each.get_attribute("alt")] == [], name
        problems = [each["message"] for each in browser.get_log("browser") if each["level"] != "INFO"]
        assert problems == [], name


def test_the_search_finds_a_page_and_a_figure_has_its_data(site: Path, browser: Any) -> None:
    browser.get((site / "search.html").as_uri() + "?q=prolongation")
    browser.implicitly_wait(10)
    found = browser.find_elements("css selector", "#search-results li a")
    assert found
    excerpts = browser.find_elements("css selector", "#search-results .rl-excerpt")
    assert any("prolongation" in each.text.lower() for each in excerpts)
    browser.get(found[0].get_attribute("href"))
    assert "prolongation" in browser.find_element("css selector", "main").text.lower()
    browser.get((site / "papers/aykurt.html").as_uri())
    links = [each.get_attribute("href") for each in browser.find_elements("css selector", "a[href$='.csv']")]
    assert links
    assert all(Path(link.removeprefix("file://")).stat().st_size > 100 for link in links)


def test_the_first_page_fits_a_screen_and_no_page_is_endless(site: Path, browser: Any) -> None:
    pages.resize(browser, 1366)
    browser.get((site / "index.html").as_uri())
    doors = browser.find_elements("css selector", ".rl-door")
    assert [each.find_element("css selector", "strong").text for each in doors] == ["Ask", "Reproduce", "Trust"]
    assert all(Path(each.get_attribute("href").removeprefix("file://")).exists() for each in doors)
    for name in PAGES:
        browser.get((site / name).as_uri())
        assert browser.execute_script("return document.documentElement.scrollHeight") < 60_000, name


def test_a_figure_of_the_grid_leads_to_its_statements(site: Path, browser: Any) -> None:
    browser.get((site / "figures.html").as_uri())
    tile = browser.find_element("css selector", ".rl-tile")
    assert tile.find_elements("css selector", ".rlc-badge")
    browser.get(tile.get_attribute("href"))
    assert browser.find_elements("id", browser.current_url.rpartition("#")[2])
    browser.find_element("css selector", ".rl-folded > summary").click()
    heads = [each.text for each in browser.find_elements("css selector", ".rl-claims th")]
    assert [head for head in heads if head.startswith("verdict")]


@pytest.mark.parametrize("width", [390, 1400])
def test_a_figure_is_shown_on_the_whole_screen_and_at_its_own_size(site: Path, browser: Any, width: int) -> None:
    from selenium.webdriver.common.keys import Keys

    pages.resize(browser, width)
    browser.get((site / "papers/aykurt.html").as_uri())
    browser.execute_script("document.querySelector('.rl-figure img').scrollIntoView()")
    # a picture is loaded when it comes into view
    wait_for(lambda: browser.find_elements("css selector", ".rl-figure a.rl-zoom"))
    link = browser.find_element("css selector", ".rl-figure a.rl-zoom")
    text = link.find_element("css selector", "img").get_attribute("alt")
    link.send_keys(Keys.ENTER)
    picture = browser.find_element("css selector", "dialog.rl-zoomed[open] img")
    assert picture.get_attribute("alt") == text
    assert picture.rect["width"] == width
    picture.click()
    assert picture.rect["width"] == browser.execute_script("return arguments[0].naturalWidth", picture)
    assert pages.overflow_px(browser, width) <= 0
    browser.find_element("css selector", ".rl-zoomed button").click()
    assert not browser.find_elements("css selector", "dialog[open]")
    assert [each["message"] for each in browser.get_log("browser") if each["level"] != "INFO"] == []
