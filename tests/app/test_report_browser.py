# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: its filter, on a narrow screen, by keyboard, and its contrast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.app import report
from rdcnlab.papers import aykurt, tdtcp
from rdcnlab.runs.store import Store

pytestmark = pytest.mark.slow

#: WCAG 2.2, level AA: least contrast of text, and of large text (24 px, or bold from 18.7 px).
CONTRAST, LARGE = 4.5, 3.0
#: Of each element with text of its own: its words, the ratio of its contrast, and whether it is large.
_CONTRASTS = """
const light = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const numbers = text => text.match(/[0-9.]+/g).map(Number);
const behind = one => {
  for (; one; one = one.parentElement) {
    const colour = numbers(getComputedStyle(one).backgroundColor);
    if (colour.length < 4 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll("body *")]
  .filter(one => one.checkVisibility() && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
  .map(one => {
    const style = getComputedStyle(one), size = parseFloat(style.fontSize);
    const [low, high] = [light(numbers(style.color)), light(behind(one))].sort((a, b) => a - b);
    return [one.textContent.trim().slice(0, 40), (high + 0.05) / (low + 0.05),
            size >= 24 || (size >= 18.7 && style.fontWeight >= 600)];
  });
"""


@pytest.fixture
def page(browser: Any, fake_engine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The browser with a report: one item with runs, one of another paper without."""
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.setenv("RDCNLAB_RESULTS", "none")
    aykurt.fig8a().run(progress=False)
    file = tmp_path / "report.html"
    file.write_text(report.page([aykurt.fig8a, tdtcp.fig2], Store(), tmp_path / "pictures"), encoding="utf-8")
    browser.get(file.as_uri())
    return browser


def all_of(page: Any, selector: str) -> list[Any]:
    return [each for each in page.find_elements("css selector", selector) if each.is_displayed()]


def test_the_filter_shows_the_claims_with_the_chosen_verdicts_of_the_chosen_paper(page: Any) -> None:
    everything = len(all_of(page, ".rl-claim"))
    assert page.find_element("css selector", ".rl-count").text == f"{everything} of {everything} claims"
    assert {section.get_attribute("id") for section in all_of(page, ".rl-item")} == {"aykurt-fig8a", "tdtcp-fig2"}
    missing = [each for each in all_of(page, ".rl-claim") if "not-run" in each.get_attribute("data-verdicts")]
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
    # a window has a least width; a device has not
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 640},
    )
    assert page.execute_script("return window.innerWidth") == width
    root = "document.documentElement"
    assert page.execute_script(f"return {root}.scrollWidth - {root}.clientWidth") <= 0
    texts = page.execute_script(_CONTRASTS)
    assert len(texts) > 20
    assert [words for words, ratio, large in texts if ratio < (LARGE if large else CONTRAST)] == []
