# SPDX-License-Identifier: Apache-2.0
"""The explorer and the notebook of `make demo` in JupyterLab, in a real browser: Chromium without a window.

Selenium drives it. The server listens on the loopback only. Runs of the explorer are made by the engine for tests,
those of the demo's notebook are the shipped ones. The tests wait for what must appear, so a busy machine makes them
slower and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.app.explore.places import PLACES
from rdcnlab.runs.store import Store
from rdcnlab.system import places
from rdcnlab_papers import aykurt
from rdcnlab_papers.app import gallery, notebooks
from rdcnlab_papers.items import faces
from tests.app import pages
from tests.conftest import wait_for

pytestmark = pytest.mark.slow

#: Seconds in which anything must appear; a limit for what never appears, not a guess how long something takes.
LIMIT_S = 240
TOKEN = "of-this-test"
#: Number of pictures of the gallery that are on the screen.
_PICTURES = """
return [...document.querySelectorAll(".jp-RenderedMarkdown img")].filter(one => {
  const box = one.getBoundingClientRect();
  return one.complete && one.naturalWidth && box.width > 100 && box.top >= 0 && box.bottom <= innerHeight;
}).length;
"""


@pytest.fixture
def lab(tmp_path: Path, fake_engine: None) -> Iterator[str]:
    """The address of JupyterLab, whose runs are made by the engine for tests."""
    with jupyterlab(tmp_path, places.notebooks().glob("*.ipynb")) as address:
        yield address


@pytest.fixture
def lab_of_demo(tmp_path: Path) -> Iterator[str]:
    """The address of JupyterLab with the notebook that `make demo` leads to, whose runs are the shipped ones."""
    if aykurt.fig4(profile="paper").stored_runs(Store(tmp_path / "runs")) is None:
        pytest.skip("the runs of aykurt/fig4 are not shipped")
    with jupyterlab(tmp_path, [notebooks.path(aykurt.fig4)]) as address:
        yield address


@pytest.fixture
def dark_lab(tmp_path: Path, fake_engine: None) -> Iterator[str]:
    """As `lab`, with JupyterLab's dark theme."""
    with jupyterlab(tmp_path, [places.notebooks() / "explore.ipynb"], theme="JupyterLab Dark") as address:
        yield address


@contextlib.contextmanager
def jupyterlab(tmp_path: Path, books: Iterable[Path], theme: str = "JupyterLab Light") -> Iterator[str]:
    """Start JupyterLab over copies of notebooks, and give its address."""
    pytest.importorskip("jupyterlab")
    tree = tmp_path / "notebooks"
    tree.mkdir()
    for path in books:
        shutil.copy(path, tree)
    shutil.copytree(places.notebooks() / gallery.FOLDER, tree / gallery.FOLDER)
    own = {
        name: str(tmp_path / "jupyter" / name)
        for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")
    }
    own |= {"RDCNLAB_STORE": str(tmp_path / "runs"), "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "jupyter" / "settings")}
    own |= {"JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "jupyter" / "workspaces")}
    options = [
        "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", f"--IdentityProvider.token={TOKEN}",
        f"--ServerApp.root_dir={tree}", "--LabApp.extension_manager=readonly",
    ]  # fmt: skip
    # it would ask a server elsewhere for news
    config = Path(own["JUPYTER_CONFIG_DIR"]) / "labconfig"
    config.mkdir(parents=True)
    quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (config / "page_config.json").write_text(json.dumps(quiet))
    settings = Path(own["JUPYTERLAB_SETTINGS_DIR"]) / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    with (tmp_path / "lab.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], env={**os.environ, **own}, stdout=log, stderr=log
        )
    about = Path(own["JUPYTER_RUNTIME_DIR"]) / f"jpserver-{server.pid}.json"

    def started() -> Any:
        assert server.poll() is None, (tmp_path / "lab.log").read_text()
        with contextlib.suppress(OSError, ValueError):
            return json.loads(about.read_text())["url"]
        return None

    try:
        yield str(wait_for(started, LIMIT_S))
    finally:
        server.terminate()  # it ends its kernels before it ends
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


class Page:
    """The page in the browser; everything it does waits until it can be done."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser, self.folder = browser, folder

    def until(self, what: str, look: Callable[[], Any]) -> Any:
        from selenium.common.exceptions import WebDriverException

        def quietly() -> Any:
            try:
                return look()
            except WebDriverException:  # not there yet, or drawn anew at this moment
                return None

        try:
            return wait_for(quietly, LIMIT_S)
        except TimeoutError:
            self.browser.save_screenshot(str(self.folder / "screen.png"))
            pytest.fail(f"the page never had {what}; see {self.folder / 'screen.png'}")

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.browser.find_elements("css selector", selector)
        return found

    def one(self, selector: str, text: str = "") -> Any:
        return self.until(f"{selector} {text!r}", lambda: self._again(selector, text))

    def _again(self, selector: str, text: str) -> Any:
        return next((each for each in self.all(selector) if each.is_displayed() and text in each.text), None)

    def click(self, selector: str, text: str = "") -> None:
        def clicked() -> bool:
            found = self._again(selector, text)
            self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
            found.click()
            return True

        self.until(f"{selector} {text!r} to click", clicked)

    def image(self, alt: str) -> str:
        """Return the address of a picture of the explorer by the begin of its text."""
        found = self.all(f'.rdcnlab-explore img[alt^="{alt}"]')
        return str(found[0].get_attribute("src")) if found else ""

    def run_cell(self, text: str) -> None:
        """Run the cell that contains a text, when the kernel is ready: JupyterLab forgets what is run earlier."""
        from selenium.webdriver.common.keys import Keys

        self.one("#jp-main-statusbar", "| Idle")

        def ran() -> bool:
            editor = self._again(".jp-Notebook .jp-CodeCell .cm-content", text)
            editor.click()
            editor.send_keys(Keys.SHIFT, Keys.ENTER)
            return True

        self.until("a cell to run", ran)

    def said(self, role: str) -> str:
        """Return what the explorer says: ``status`` of the runs, or ``alert``, why there can be none."""
        found = self.all(f'.rdcnlab-explore [role="{role}"]')
        return str(found[0].text) if found else ""

    def enter(self, label: str, text: str) -> None:
        """Type into a field, found by its label."""
        from selenium.webdriver.common.keys import Keys

        def entered() -> bool:
            (field,) = self.browser.find_elements(
                "xpath", f"//label[normalize-space()='{label}']/following-sibling::input"
            )
            field.send_keys(Keys.CONTROL, "a")
            field.send_keys(text, Keys.TAB)
            return True

        self.until(f"{text} in the field {label}", entered)

    def choose(self, label: str, option: str) -> None:
        """Choose from a menu, found by its label."""
        from selenium.webdriver.support.select import Select

        def chosen() -> bool:
            (menu,) = self.browser.find_elements(
                "xpath", f"//label[normalize-space()='{label}']/following-sibling::select"
            )
            Select(menu).select_by_visible_text(option)
            return True

        self.until(f"{option} in the menu {label}", chosen)

    def button(self, name: str) -> Any:
        return self._again(".rdcnlab-explore button", name)


def test_a_reader_opens_the_index_explores_moves_a_widget_and_runs(lab: str, browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    page = Page(browser, tmp_path)
    browser.get(f"{lab}lab/tree/index.ipynb?token={TOKEN}")
    # pictures are on the first screen
    page.until("small pictures", lambda: browser.execute_script(_PICTURES) > 4)
    page.click('.jp-RenderedMarkdown a[href*="explore.ipynb"]')
    page.run_cell("explore()")
    first = page.until("the picture of the network", lambda: page.image("Network and timetable"))
    assert not page.image("Goodput")

    # a widget is moved by the keyboard: the picture of the network follows
    handle = page.one(".rdcnlab-explore .noUi-handle")
    page.until("a slider", lambda: handle.send_keys(Keys.ARROW_RIGHT) or True)
    page.until("another network", lambda: page.image("Network and timetable") not in ("", first))

    page.click(".rdcnlab-explore button", "run")
    page.until("the end of the runs", lambda: page.said("status").startswith("done, 3 of 3 runs"))
    figure = page.until("a figure", lambda: page.image("Goodput"))

    # what does not fit together is said in words, and nothing can be run
    page.choose("second transport", "tdtcp")
    page.until("a refusal", lambda: "tdtcp needs days and nights" in page.said("alert"))
    page.until("no run", lambda: not page.button("run").is_enabled())

    page.choose("second transport", "bbr")
    page.until("no refusal", lambda: page.button("run").is_enabled() and not page.said("alert"))
    page.enter("slot [ms]", "0")
    page.until("a refusal", lambda: page.said("alert").startswith("slot: '0 ms' is not possible; it must be 0.01"))
    page.enter("slot [ms]", "10")
    page.until("no refusal", lambda: page.button("run").is_enabled() and not page.said("alert"))

    page.choose("timetable", "nothing changes")
    page.until("a run again", lambda: page.button("run").is_enabled())
    page.click(".rdcnlab-explore button", "run")
    page.until("another figure", lambda: page.image("Goodput") not in ("", figure))
    page.until("the end of the runs", lambda: page.said("status").startswith("done"))

    # the first runs can be compared with, as soon as there are others
    page.click(".rdcnlab-explore select[multiple] option", "1: aykurt, all cubic")
    page.until("a table of both", lambda: len(page.all(".rdcnlab-means tbody tr")) == 4)

    browser.save_screenshot(str(tmp_path / "compared.png"))

    # another network: nothing of the old one stays; with the first one its curves come back
    page.choose("network", "one link")
    page.until("no old figure", lambda: not page.image("Goodput") and not page.said("status"))
    browser.save_screenshot(str(tmp_path / "other.png"))
    page.choose("network", "one switch (Aykurt)")
    page.until("the figure", lambda: page.image("Goodput"))
    page.until("all inputs whole", lambda: browser.execute_script(_CUT_INPUTS) == [])
    pages.resize(browser, 390)
    body = page.one("body")
    body.send_keys(Keys.CONTROL, "b")  # without the list of files
    panel = page.until("the widgets", lambda: page._again(".rdcnlab-explore", ""))
    browser.execute_script("arguments[0].scrollIntoView()", panel)
    # widgets and curves are below each other
    page.until("one column", lambda: page.one('.rdcnlab-explore img[alt^="Goodput"]').rect["y"]
               > page.one(".rdcnlab-explore button", "run").rect["y"])  # fmt: skip
    for name in PLACES:
        page.choose("network", PLACES[name].label)
        page.until("all inputs whole", lambda: browser.execute_script(_CUT_INPUTS) == [])
    browser.save_screenshot(str(tmp_path / "phone.png"))
    page.choose("network", PLACES["aykurt"].label)
    body.send_keys(Keys.CONTROL, "b")
    pages.resize(browser, 1366)

    page.click(".rdcnlab-explore button", "open as a notebook")
    page.click(".rdcnlab-explore a", "open explored.ipynb")
    page.one(".jp-NotebookPanel .cm-content", 'Scenario.load("explored.yaml")')
    browser.save_screenshot(str(tmp_path / "screen.png"))
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert not errors, errors


def test_the_explorer_can_be_read_in_the_dark(dark_lab: str, browser: Any, tmp_path: Path) -> None:
    page = Page(browser, tmp_path)
    browser.get(f"{dark_lab}lab/tree/explore.ipynb?token={TOKEN}")
    page.run_cell("explore()")
    page.until("the picture of the network", lambda: page.image("Network and timetable"))
    page.choose("second transport", "tdtcp")
    page.until("a refusal", lambda: page.said("alert"))
    refused = pages.faint(browser, ".rdcnlab-explore")
    page.choose("second transport", "bbr")
    page.until("no refusal", lambda: page.button("run").is_enabled() and not page.said("alert"))
    page.click(".rdcnlab-explore button", "run")
    page.until("the end of the runs", lambda: page.said("status").startswith("done"))
    page.until("a figure", lambda: page.image("Goodput"))
    browser.save_screenshot(str(tmp_path / "dark.png"))
    assert refused == pages.faint(browser, ".rdcnlab-explore") == []


#: The names of inputs and buttons of the explorer that an outer element cuts off, or whose chosen words do not fit.
_CUT_INPUTS = """
const ends = one => {
  const style = getComputedStyle(one), chosen = one.selectedOptions;
  if (!chosen || one.multiple || !chosen.length) return one.getBoundingClientRect().right;
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = style.font;
  // the arrow of a menu is in its padding
  return one.getBoundingClientRect().left + Math.max(one.getBoundingClientRect().width,
    pen.measureText(chosen[0].text).width + parseFloat(style.paddingLeft) + parseFloat(style.paddingRight));
};
const cut = one => {
  const right = ends(one);
  if (right > one.getBoundingClientRect().right + 0.5) return true;
  for (let outer = one.parentElement; outer; outer = outer.parentElement) {
    const edge = outer.getBoundingClientRect().left + outer.clientLeft + outer.clientWidth;
    if (getComputedStyle(outer).overflowX !== "visible" && right > edge + 0.5) return true;
  }
  return false;
};
return [...document.querySelectorAll(".rdcnlab-explore :is(select, input, button, .widget-hslider, .progress)")]
  .filter(one => one.checkVisibility() && cut(one))
  .map(one => (one.closest(".jupyter-widgets") || one).textContent.slice(0, 60));
"""
#: Of what a card needs more room than it has, the first words: nothing is cut off.
_CUT = """
return [...document.querySelectorAll(".rlc, .rlc *")]
  .filter(one => one.checkVisibility() && getComputedStyle(one).display !== "inline")
  .filter(one => one.scrollWidth > one.clientWidth + 1)
  .map(one => one.textContent.slice(0, 60));
"""
#: Scroll to a card, and say whether it was there already and has a width of its own.
_IN_VIEW = """
const box = arguments[0].getBoundingClientRect();
arguments[0].scrollIntoView();
return box.width > 200 && box.top > 0 && box.top < 200 && box.right <= window.innerWidth;
"""
#: Colours of the text and the ground of each verdict.
_COLOURS = """
return [...document.querySelectorAll(".rlc-row .rlc-badge")].map(one => {
  const style = getComputedStyle(one);
  return [one.textContent.slice(2), style.color, style.backgroundColor];
});
"""


def test_the_notebook_of_the_demo_shows_figure_verdicts_and_causes(
    lab_of_demo: str, browser: Any, tmp_path: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    page = Page(browser, tmp_path)

    def cards() -> list[str]:
        return [*(card.text for card in page.all(".rlc")), "", ""]

    browser.get(f"{lab_of_demo}lab/tree/fig4.ipynb?token={TOKEN}")
    page.one("#jp-main-statusbar", "| Idle")
    page.click(".lm-MenuBar-item", "Run")
    page.click(".lm-Menu-item", "Run All Cells")
    page.until("the verdicts", lambda: "8 reproduced, 1 differs." in cards()[0])
    page.until("the experiments on causes", lambda: "experiments on causes" in cards()[1])
    page.until("pictures of network and figure", lambda: len(page.all(".jp-OutputArea-output img")) >= 2)
    assert all(width > 300 for width in browser.execute_script(
        "return [...document.querySelectorAll('.jp-OutputArea-output img')].map(one => one.naturalWidth)"
    ))  # fmt: skip

    assert "…" not in " ".join(cards())
    assert "..." not in " ".join(cards())
    expected = {verdict: [_rgb(face.ink), _rgb(face.ground)] for verdict, face in faces.FACES.items()}
    colours = browser.execute_script(_COLOURS)
    assert {verdict for verdict, *_ in colours} == {"reproduced", "differs"}
    assert all([ink, ground] == expected[verdict] for verdict, ink, ground in colours)
    # JupyterLab has its own style of lists; a case has its sign in place of a bullet
    assert {each.value_of_css_property("list-style-type") for each in page.all(".rlc-cases li")} == {"none"}
    browser.execute_script("arguments[0].scrollIntoView()", page.all(".rlc")[0])
    browser.save_screenshot(str(tmp_path / "score.png"))
    browser.execute_script("arguments[0].scrollIntoView()", page.all(".rlc")[1])
    browser.save_screenshot(str(tmp_path / "causes.png"))

    page.click(".lm-MenuBar-item", "Settings")
    page.one(".lm-Menu-item", "Theme").click()
    page.click(".lm-Menu-item", "JupyterLab Dark")
    page.until("a dark page", lambda: page.all("body[data-jp-theme-light=false]"))
    page.one("body").send_keys(Keys.CONTROL, "b")  # without the list of files
    for name, width in (("wide", 1366), ("phone", 390)):
        pages.resize(browser, width)
        # JupyterLab lays out its cells again at another width
        page.until("the verdicts in view", lambda: browser.execute_script(_IN_VIEW, page.all(".rlc")[0]))
        browser.save_screenshot(str(tmp_path / f"dark-{name}.png"))
        assert browser.execute_script(_CUT) == []
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert not errors, errors


def _rgb(colour: str) -> str:
    """Return a colour such as ``#00452f`` as a browser writes it."""
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"
