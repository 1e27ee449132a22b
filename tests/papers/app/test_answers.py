# SPDX-License-Identifier: Apache-2.0
"""The site's page Explore: stored runs answer, and their scenarios give the same runs again."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.runs.campaign import lookup
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab_papers import aykurt, carpa
from rdcnlab_papers.app.site import answers, view
from rdcnlab_papers.app.site.answers import Answer
from rdcnlab_papers.app.site.sources import Sources
from tests.app.pages import overflow_px, resize
from tests.conftest import wait_for

BBR = ("aykurt, Linux 6.12", "main BBR, migrated CUBIC", "50 ms")


@pytest.fixture
def found(tmp_path: Path) -> list[Answer]:
    kinds = [aykurt.fig4, aykurt.fig6a, carpa.fig2]
    return answers.answers(kinds, Store(tmp_path / "runs"), Sources(tmp_path / "source"))


def test_each_scenario_of_the_page_gives_the_run_that_is_shown(found: list[Answer], tmp_path: Path) -> None:
    # fig4 draws five periods of CUBIC in each of three columns, fig6a has twelve pairs in each of three
    assert len(found) == len({answer.choice for answer in found}) == 3 * (5 + 12)
    for answer in found[::8]:
        (tmp_path / "explored.yaml").write_text(answer.yaml)
        (run,) = lookup([Scenario.load(tmp_path / "explored.yaml")], Store(tmp_path / "runs"))
        assert run is not None
        assert run.id.startswith(answer.run)
        assert [flow["retransmissions"] for flow in answer.flows] == run.flows["retransmits"].tolist()
        assert [flow["completion time [s]"] for flow in answer.flows] == pytest.approx(run.flows["fct_s"], abs=1e-4)


def test_the_first_page_has_three_of_them(found: list[Answer]) -> None:
    first = answers.first(found)
    assert [answer.name for answer in first] == ["CUBIC, 50 ms", "CUBIC, 1 ms", "BBR and CUBIC, 50 ms"]
    assert {answer.choice[0] for answer in first} == {"aykurt, Linux 6.12"}


@pytest.fixture
def page(found: list[Answer], tmp_path: Path) -> Path:
    """The page's own part, in a page of nothing else, with its time-lines beside it."""
    data = answers.data(found)
    text = json.dumps(data).replace("</", "<\\/")
    body = view.environment().get_template("explore.html.j2").render(data=data, answers=text)
    static = resources.files("rdcnlab_papers.app.site") / "static"
    files = ("report.css", "site.css", "explore.js")
    report, site, script = ((static / name).read_text(encoding="utf-8") for name in files)
    path = tmp_path / "source/extra/page.html"
    head = "<!doctype html><html lang='en'><meta name='viewport' content='width=device-width'>"
    path.write_text(f"{head}<style>{report}{site}</style><body>{body}<script>{script}</script></body></html>")
    return path


def choose(browser: Any, name: str, value: str) -> None:
    from selenium.webdriver.support.select import Select

    Select(browser.find_element("css selector", f"#rl-ask select[name={name}]")).select_by_visible_text(value)


def cells(browser: Any) -> list[list[str]]:
    script = "return [...document.querySelectorAll('#rl-flows tr')].map(r => [...r.cells].map(c => c.textContent))"
    rows: list[list[str]] = browser.execute_script(script)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1400])
def test_a_reader_chooses_and_a_stored_run_answers(browser: Any, page: Path, found: list[Answer], width: int) -> None:
    resize(browser, width)
    browser.get(page.as_uri())
    wait_for(lambda: cells(browser))
    choose(browser, "transports", BBR[1])
    answer = next(one for one in found if one.choice == BBR)
    head, *rows = cells(browser)
    assert head == list(answer.flows[0])
    assert [row[:2] for row in rows] == [["main", "bbr"], ["migrated", "cubic"]]
    assert [[float(cell) for cell in row[2:5]] for row in rows] == [list(flow.values())[2:5] for flow in answer.flows]
    assert browser.find_element("id", "rl-yaml").text.strip() == answer.yaml.strip()
    assert overflow_px(browser, width) == 0
    # only periods that this pair has are offered, and an address keeps what is chosen
    offered = browser.find_elements("css selector", "#rl-ask select[name=period] option")
    assert [option.text for option in offered] == ["50 ms"]
    browser.refresh()
    wait_for(lambda: cells(browser)[1:] == rows)


@pytest.mark.slow
def test_the_time_line_of_the_page_can_be_zoomed(browser: Any, page: Path) -> None:
    browser.get(page.as_uri())
    wait_for(lambda: cells(browser))
    browser.switch_to.frame("rl-run")
    shown = wait_for(lambda: next((text for text in spans(browser) if text.startswith("0 to ")), None))
    next(one for one in browser.find_elements("tag name", "button") if one.text == "+").click()
    wait_for(lambda: any(" to " in text and text != shown for text in spans(browser)))
    browser.switch_to.default_content()


def spans(browser: Any) -> list[str]:
    """Return the texts of the time-line that end with a time, such as that of the span which is shown."""
    script = "return [...document.querySelectorAll('span, output')].map(one => one.textContent.trim())"
    return [text for text in browser.execute_script(script) if text.endswith(" ms")]
