# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: its filter, on a narrow screen, by keyboard, and its contrast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.runs.store import Store
from rdcnlab_papers import aykurt, tdtcp
from rdcnlab_papers.app import report
from tests.app import pages

pytestmark = pytest.mark.slow


@pytest.fixture
def page(browser: Any, fake_engine: None, pool_here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The browser with a report: one item with runs, one of another paper without."""
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.setenv("RDCNLAB_RESULTS", "none")
    aykurt.fig8a().run(progress=False)
    file = tmp_path / "report.html"
    file.write_text(report.page([aykurt.fig8a, tdtcp.fig2], Store(), tmp_path / "pictures"), encoding="utf-8")
    browser.get(file.as_uri())
    assert not [fold for fold in browser.find_elements("css selector", ".rl-folded") if fold.get_attribute("open")]
    browser.execute_script("document.querySelectorAll('.rl-folded').forEach(fold => { fold.open = true })")
    return browser


def all_of(page: Any, selector: str) -> list[Any]:
    return [each for each in page.find_elements("css selector", selector) if each.is_displayed()]


def test_the_filter_shows_the_claims_with_the_chosen_verdicts_of_the_chosen_paper(page: Any) -> None:
    everything = len(all_of(page, ".rl-claim"))
    assert page.find_element("css selector", ".rl-count").text == f"{everything} of {everything} claims"
    assert {section.get_attribute("id") for section in all_of(page, ".rl-item")} == {"aykurt-fig8a", "tdtcp-fig2"}
    verdicts = [set(each.get_attribute("data-verdicts").split()) for each in all_of(page, ".rl-claim")]
    missing = [each for each in verdicts if each == {"not-run"}]
    page.find_element("css selector", "input[value=not-run]").click()
    assert 0 < len(all_of(page, ".rl-claim")) == everything - len(missing)
    assert [section.get_attribute("id") for section in all_of(page, ".rl-item")] == ["aykurt-fig8a"]
    # nothing is left of a paper with no such claim, its heading neither
    assert [section.get_attribute("id") for section in all_of(page, ".rl-paper")] == ["paper-aykurt"]
    page.find_element("css selector", ".rl-filter button").click()
    page.find_element("css selector", ".rl-filter option[value=tdtcp]").click()
    assert [section.get_attribute("id") for section in all_of(page, ".rl-paper")] == ["paper-tdtcp"]
    assert page.get_log("browser") == []


def test_all_that_can_be_used_is_reached_by_keyboard(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    wanted = {"INPUT", "SELECT", "BUTTON", "SUMMARY", "DIV"}  # the last are tables that scroll
    reached = set()
    page.find_element("css selector", "body").click()
    for _ in range(60):
        page.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(page.switch_to.active_element.tag_name.upper())
    assert wanted <= reached
    box = page.find_element("css selector", "input[value=not-run]")
    box.send_keys(Keys.SPACE)
    assert not box.is_selected()


@pytest.mark.parametrize("width", [390, 1366])
def test_nothing_is_wider_than_the_screen_and_all_text_has_contrast(page: Any, width: int) -> None:
    pages.resize(page, width)
    assert pages.overflow_px(page, width) <= 0
    assert pages.faint(page) == []
