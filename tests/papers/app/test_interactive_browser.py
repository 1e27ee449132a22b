# SPDX-License-Identifier: Apache-2.0
"""The interactive page of the site in a real browser: what is chosen is drawn, on a phone, dark, and by an address."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.runs.frame import Runs
from rdcnlab_papers import aykurt
from rdcnlab_papers.app.interactive import interactive
from rdcnlab_papers.app.site import build, view
from rdcnlab_papers.app.site.entry import Entry
from rdcnlab_papers.app.site.shown import Shown
from rdcnlab_papers.app.site.sources import Sources
from rdcnlab_papers.items.interactive import Interactive, Metric
from tests.app.pages import overflow_px, resize
from tests.conftest import wait_for

NETWORKS, WORKLOADS, TRANSPORTS = ("opera", "rotor"), ("hadoop", "incast"), ("cubic", "tdtcp")
#: The mean of each case: 1, 2, 3 ... in the order of networks, workloads and transports. TDTCP has no runs on opera.
MEANS = {
    (network, workload, transport): 1.0 + 4 * a + 2 * b + c
    for a, network in enumerate(NETWORKS)
    for b, workload in enumerate(WORKLOADS)
    for c, transport in enumerate(TRANSPORTS)
    if (network, transport) != ("opera", "tdtcp")
}
_DRAWN = "return [...document.querySelectorAll('.rl-mark')].map(one => Number(one.dataset.mean))"
_ROWS = "return [...document.querySelectorAll('text.rl-row')].map(one => one.textContent)"
#: Whether all words of the drawing are on the screen.
_INSIDE = """
return [...document.querySelectorAll("#rl-chart text")].every(one => {
  const box = one.getBoundingClientRect();
  return box.left >= 0 && box.right <= innerWidth;
});
"""


def made() -> Interactive:
    keys = ("architecture", "workload", "transport")
    rows = [
        {**dict(zip(keys, case, strict=True)), "seed": seed, "mean": value + seed - 1, "drops": 0.0}
        for case, value in MEANS.items()
        for seed in range(3)
    ]
    sides = {"architecture": "Network", "workload": "Workload"}
    metrics = {"mean": Metric("mean slowdown", logarithmic=True), "drops": Metric("dropped packets")}
    return Interactive("T", "S", pd.DataFrame(rows), sides, {"workload": "hadoop"}, "transport", metrics)


def content() -> dict[str, Any]:
    return made().data()


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """The page's own part, in a page of nothing else."""
    data = content()
    body = view.environment().get_template("interactive.html.j2").render(data=data, numbers=json.dumps(data))
    static = resources.files("rdcnlab_papers.app.site") / "static"
    css, script = ((static / name).read_text(encoding="utf-8") for name in ("site.css", "interactive.js"))
    path = tmp_path / "page.html"
    head = "<!doctype html><html lang='en'><meta name='viewport' content='width=device-width'>"
    path.write_text(f"{head}<style>{css}</style><body>{body}<script>{script}</script></body></html>")
    return path


def choose(browser: Any, name: str, value: str) -> None:
    from selenium.webdriver.support.select import Select

    Select(browser.find_element("css selector", f"#rl-choices select[name={name}]")).select_by_visible_text(value)


@pytest.mark.slow
def test_a_reader_chooses_what_is_drawn(browser: Any, page: Path) -> None:
    browser.get(page.as_uri())
    wait_for(lambda: browser.execute_script(_DRAWN))
    # Hadoop on all networks, as the item says
    assert browser.execute_script(_ROWS) == ["opera", "rotor"]
    assert browser.execute_script(_DRAWN) == [1, 5, 6]
    choose(browser, "side0", "rotor")
    choose(browser, "side1", "all")
    assert browser.execute_script(_ROWS) == ["hadoop", "incast"]
    assert browser.execute_script(_DRAWN) == [5, 6, 7, 8]
    browser.find_elements("css selector", "#rl-choices input")[1].click()
    assert browser.execute_script(_DRAWN) == [5, 7]
    cells = [each.text for each in browser.find_elements("css selector", "#rl-table td")]
    # means of three seeds that differ by one: Student's t, 4.303 / sqrt(3)
    assert cells == ["hadoop", "5 (2.52 to 7.48)", "incast", "7 (4.52 to 9.48)"]
    choose(browser, "number", "dropped packets")
    assert browser.execute_script(_DRAWN) == [0, 0]

    # an address keeps it
    address = browser.current_url
    browser.get("about:blank")
    browser.get(address)
    wait_for(lambda: browser.execute_script(_DRAWN))
    assert browser.execute_script("return document.querySelector('select[name=number]').value") == "drops"
    assert browser.execute_script(_DRAWN) == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1366])
def test_it_fits_the_screen_and_asks_for_nothing(browser: Any, page: Path, width: int) -> None:
    resize(browser, width)
    browser.get(page.as_uri())
    wait_for(lambda: browser.execute_script(_DRAWN))
    assert overflow_px(browser, width) <= 0
    assert browser.execute_script(_INSIDE)
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"] == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1366])
def test_a_notebook_has_the_same_page_in_a_frame(browser: Any, tmp_path: Path, width: int) -> None:
    shown = interactive(SimpleNamespace(interactive=lambda runs: made()), Runs([]))  # type: ignore[arg-type]
    path = tmp_path / "notebook.html"
    head = "<!doctype html><html lang='en'><meta name='viewport' content='width=device-width'>"
    path.write_text(f"{head}<body>{shown._repr_html_()}</body></html>")
    resize(browser, width)
    browser.get(path.as_uri())
    assert overflow_px(browser, width) <= 0
    browser.switch_to.frame(browser.find_element("css selector", "iframe"))
    wait_for(lambda: browser.execute_script(_DRAWN))
    assert browser.execute_script(_DRAWN) == [1, 5, 6]
    choose(browser, "side0", "rotor")
    assert browser.execute_script(_DRAWN) == [5, 6]
    assert browser.execute_script(_INSIDE)
    assert "3 seeds" in browser.find_element("css selector", "body").text
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"] == []


def test_an_item_without_numbers_to_choose_from_is_refused() -> None:
    with pytest.raises(InputError, match=r"aykurt/fig4.*defines the method interactive"):
        interactive(aykurt.fig4(), Runs([]))


def test_the_site_has_a_page_of_an_item_that_has_numbers_to_choose_from(tmp_path: Path) -> None:
    cache = tmp_path / "entries"
    folder = cache / "tdtcp" / "architectures"
    folder.mkdir(parents=True)
    (folder / "numbers.json").write_text(json.dumps(content()))
    shown = Shown("text", "t", "quick", [], interactive="numbers.json")
    entries = [
        Entry("tdtcp", "architectures", "t", "s", True, [shown]),
        Entry("tdtcp", "fig2", "t", "s", False, [Shown("text", "t", "quick", [])]),
    ]
    build._interactive_pages(Sources(tmp_path / "source"), entries, cache)
    (page,) = (tmp_path / "source" / "papers").glob("*")
    assert page.name == "tdtcp-architectures.md"
    assert json.dumps(content()) in page.read_text()
    assert [view.interactive_page(entry) for entry in entries] == ["tdtcp-architectures", ""]
