# SPDX-License-Identifier: Apache-2.0
"""The time-line in a real browser: zoomed by mouse, keys and buttons, on a phone, dark, and in a notebook's frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from tests.app.pages import overflow_px, resize
from tests.conftest import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fake_engine", "pool_here")]

_SHOWN = "return [timeline.state.min, timeline.state.max]"
_SCALES = "return timeline.charts().map(chart => [chart.scales.x.min, chart.scales.x.max])"


@pytest.fixture
def page(store: Store, two_flows: Scenario, tmp_path: Path) -> Path:
    (run,) = campaign([two_flows.with_(period="5 ms", size="64 MiB")], store=store, workers=1, progress=False)
    page = run.timeline()
    (tmp_path / "frame.html").write_text(f"<!doctype html><html lang=en><body>{page._repr_html_()}</body></html>")
    return page.save(tmp_path / "t.html")


def severe(browser: Any) -> list[Any]:
    return [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def test_a_reader_zooms_moves_hides_a_flow_and_sees_it_on_a_phone(browser: Any, page: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser.get(page.as_uri())
    charts = wait_for(lambda: browser.find_elements("css selector", ".u-over"))
    assert isinstance(charts, list)
    end = browser.execute_script("return timeline.data.end_ms")
    assert browser.execute_script(_SHOWN) == [0, end]

    # a quarter of one chart is selected by the mouse: all charts show it
    wide = charts[1].size["width"]
    mouse = ActionChains(browser).move_to_element_with_offset(charts[1], -wide // 4, 0).click_and_hold()
    mouse.move_by_offset(wide // 8, 0).move_by_offset(wide // 8, 0).release().perform()
    begin, finish = browser.execute_script(_SHOWN)
    assert begin == pytest.approx(end / 4, rel=0.05)
    assert finish == pytest.approx(end / 2, rel=0.05)
    assert all(scale == [begin, finish] for scale in browser.execute_script(_SCALES))
    assert browser.execute_script("return location.hash").startswith("#ms=")
    assert "migrated: " in browser.find_element("id", "now").text

    main = browser.find_element("id", "panels")
    main.send_keys(Keys.ARROW_RIGHT)
    later = browser.execute_script(_SHOWN)
    assert later[0] == pytest.approx(begin + (finish - begin) / 4)
    browser.find_element("id", "in").click()
    length = [high - low for low, high in (later, browser.execute_script(_SHOWN))]
    assert length[1] == pytest.approx(length[0] / 2)
    ActionChains(browser).double_click(charts[1]).perform()
    assert browser.execute_script(_SHOWN) == [0, end]

    browser.find_elements("css selector", "#flows input")[0].click()
    assert browser.execute_script("return timeline.charts()[1].series.map(one => one.show)") == [True, False, True]

    # an address with a span opens there
    browser.get("about:blank")
    browser.get(f"{page.as_uri()}#ms=1-3")
    assert wait_for(lambda: browser.execute_script(_SHOWN)) == [1, 3]

    for dark in ("light", "dark"):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": dark}]}
        )
        resize(browser, 390)
        wait_for(lambda: browser.execute_script("return timeline.charts().every(chart => chart.width < 390)"))
        assert overflow_px(browser, 390) == 0
        browser.save_screenshot(str(page.with_name(f"phone-{dark}.png")))
    assert severe(browser) == []


def test_it_works_inside_the_frame_of_a_notebook(browser: Any, page: Path) -> None:
    browser.get(page.with_name("frame.html").as_uri())
    browser.switch_to.frame(browser.find_element("tag name", "iframe"))
    assert wait_for(lambda: browser.find_elements("css selector", ".u-over"))
    browser.find_element("id", "in").click()
    begin, finish = browser.execute_script(_SHOWN)
    assert finish - begin == pytest.approx(browser.execute_script("return timeline.data.end_ms") / 2)
    assert severe(browser) == []
