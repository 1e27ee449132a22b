# SPDX-License-Identifier: Apache-2.0
"""The commands about stored runs, and what `rdcnlab run` says at its end."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rdcnlab.app.cli import chart, plot
from rdcnlab.app.cli.tools import show_checks
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.shipped import Row
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system.blocks import BLOCKS
from tests.app.test_cli import Run, here, rdcnlab
from tests.conftest import with_papers

__all__ = ["here", "rdcnlab"]  # fixtures
pytestmark = pytest.mark.usefixtures("fake_engine", "pool_here")


@pytest.fixture
def ids(here: Path, rdcnlab: Run) -> list[str]:
    """The ids of two stored runs."""
    assert rdcnlab("run", "s.yaml", "--seeds", "1-2").returncode == 0
    return [path.name for path in sorted((here / "runs").iterdir()) if path.name[0] != "."]


def test_a_run_ends_with_reasons_and_with_commands_that_work(here: Path, rdcnlab: Run) -> None:
    done = rdcnlab("run", "s.yaml", "--seeds", "1-2")
    assert "main: limited by the rate of green" in done.stdout
    assert "█" not in done.stdout, "no chart in a file"
    command = next(line for line in done.stdout.splitlines() if "Draw it: " in line).partition("Draw it: ")[2]
    again = rdcnlab(*command.split()[1:])
    assert again.returncode == 0, again.stderr
    assert Path(again.stdout.strip()).read_bytes().startswith(b"\x89PNG")


def test_a_file_stands_for_its_stored_runs_of_all_seeds(ids: list[str], rdcnlab: Run) -> None:
    done = rdcnlab("runs", "compare", "s.yaml", "--json")
    assert {row["seed"] for row in json.loads(done.stdout)} == {1, 2}
    assert "s.yaml: seeds 1, 2" in done.stderr
    # nothing was run for it
    assert len(json.loads(rdcnlab("runs", "list", "--json").stdout)) == len(ids)


def test_many_flows_are_a_table_of_sizes_and_each_flow_is_printed_on_demand(here: Path, rdcnlab: Run) -> None:
    flow = "{name: NAME, src: s1, dst: r1, size: 1 MB, cc: reno, path: green}"
    flows = ", ".join(flow.replace("NAME", f"f{number}") for number in range(61))
    (here / "many.yaml").write_text(f"network: aykurt\nflows: [{flows}]\n")
    done = rdcnlab("run", "many.yaml")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^reno +to 1 MB +61 +\d+ ", done.stdout, re.MULTILINE)
    assert "61 flows of 61 MB: " in done.stdout
    assert "f60" not in done.stdout
    counts = [int(count) for count in re.findall(r"^(\d+) of 61 flows: limited by", done.stdout, re.MULTILINE)]
    assert max(counts) <= 61 <= sum(counts)
    assert "f60" in rdcnlab("run", "many.yaml", "--rows").stdout
    assert len(json.loads(rdcnlab("run", "many.yaml", "--json").stdout)) == 61
    flows = flows.rpartition(", {name: f60")[0]
    (here / "fewer.yaml").write_text(f"network: aykurt\nflows: [{flows}]\n")
    assert "f59" in rdcnlab("run", "fewer.yaml").stdout


def test_a_check_of_phase_says_which_numbers_change(here: Path, rdcnlab: Run) -> None:
    done = rdcnlab("run", "s.yaml", "--check-phase")
    assert done.returncode == 0, done.stderr
    assert "numbers change by more than 10% with jitter" in done.stdout
    assert len([path for path in (here / "runs").iterdir() if path.name[0] != "."]) == 2


def test_runs_are_listed_shown_and_compared(ids: list[str], rdcnlab: Run) -> None:
    rows = json.loads(rdcnlab("runs", "list", "--json").stdout)
    assert sorted(row["id"] for row in rows) == [name[:12] for name in ids]
    assert {row["seed"] for row in rows} == {1, 2}
    assert len(json.loads(rdcnlab("runs", "list", "-n", "1", "--json").stdout)) == 1
    assert "2 runs in " in rdcnlab("runs").stdout
    shown = rdcnlab("runs", "show", ids[0][:4])
    assert ids[0] in shown.stdout
    assert "limited by" in shown.stdout
    assert json.loads(rdcnlab("runs", "show", ids[0], "--json").stdout)["id"] == ids[0]
    done = rdcnlab("runs", "compare", *ids, "-o", "c.svg")
    assert done.returncode == 0, done.stderr
    assert "goodput [Gb/s]" in done.stdout
    assert Path("c.svg").read_bytes().startswith(b"<?xml")
    assert {row["seed"] for row in json.loads(rdcnlab("runs", "compare", *ids, "--json").stdout)} == {1, 2}


def test_a_run_is_deleted_only_after_a_yes(
    ids: list[str], here: Path, rdcnlab: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert rdcnlab("runs", "delete", ids[0]).returncode == 1
    assert (here / "runs" / ids[0]).is_dir()
    assert "takes ids" in rdcnlab("runs", "delete", "s.yaml", "--yes").stderr
    assert rdcnlab("runs", "delete", ids[0], "--yes").returncode == 0
    assert not (here / "runs" / ids[0]).exists()
    assert (here / "runs" / ids[1]).is_dir()
    assert rdcnlab("runs", "delete", ids[0], "--yes").returncode == 2


def test_a_shipped_run_is_not_deleted(ids: list[str], here: Path) -> None:
    store = Store()
    shipped = Row(ids[0], "", None, {})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="came with rdcnlab"):
        store.delete(replace(next(iter(store)), source=shipped))
    assert (here / "runs" / ids[0]).is_dir()


def test_ids_need_four_digits(ids: list[str], rdcnlab: Run) -> None:
    done = rdcnlab("plot", ids[0][:3])
    assert done.returncode == 2
    assert "at least 4 digits" in done.stderr
    assert rdcnlab("plot", ids[0][:4].upper(), "-o", "a.png").returncode == 0


@pytest.mark.parametrize(("kind", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_run_is_drawn_with_fonts_that_can_be_searched(ids: list[str], rdcnlab: Run, kind: str, begin: bytes) -> None:
    for _ in range(2):  # the command replaces its own picture
        done = rdcnlab("plot", ids[0], "--span", "2-8", "--sequence", "--out", f"a.{kind}")
        assert done.returncode == 0, done.stderr
    content = Path(f"a.{kind}").read_bytes()
    assert content.startswith(begin)
    assert b"/Type3" not in content
    assert kind != "pdf" or b"/TrueType" in content or b"/CIDFontType2" in content
    Path("mine.svg").write_text("mine")
    assert "--force" in rdcnlab("plot", ids[0], "-o", "mine.svg").stderr


def test_a_picture_for_a_paper_has_its_references_beside_it(ids: list[str], rdcnlab: Run) -> None:
    done = rdcnlab("plot", ids[0], "--column", "single", "-o", "a.pdf")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["a.pdf", "a.bib"]
    assert "@misc{rdcnlab," in Path("a.bib").read_text()
    assert rdcnlab("plot", ids[0], "--column", "wide", "-o", "b.pdf").returncode == 2


@with_papers
@pytest.mark.usefixtures("here")
def test_a_figure_without_runs_names_the_command_that_makes_them(rdcnlab: Run) -> None:
    """The engine for tests has no shipped runs."""
    assert "rdcnlab reproduce aykurt/fig4" in rdcnlab("plot", "aykurt/fig4").stderr


def test_a_time_line_is_written_by_its_ending_or_by_an_option(ids: list[str], rdcnlab: Run) -> None:
    assert rdcnlab("plot", ids[0], "-o", "t.html").returncode == 0
    done = rdcnlab("plot", ids[0], "--timeline")
    assert Path(done.stdout.strip()).read_bytes() == Path("t.html").read_bytes()
    assert "--span" in rdcnlab("plot", ids[0], "-o", "t.html", "--span", "1-2").stderr
    Path("r.html").write_text("<p>a report of rdcnlab</p>")
    assert "--force" in rdcnlab("plot", ids[0], "-o", "r.html").stderr


def test_a_span_is_two_times() -> None:
    assert plot.parse_span("1.5-20") == (1.5, 20.0)
    for wrong in ("5", "a-b", ""):
        with pytest.raises(InputError, match="100-250"):
            plot.parse_span(wrong)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_chart_fits_the_terminal_and_is_fullest_where_the_rate_is(
    store: Store, two_flows: Scenario, width: int
) -> None:
    (run,) = campaign([two_flows.with_(period="4 ms")], store=store, workers=1, progress=False)
    lines = [line.plain for line in chart.chart(run, width)]
    assert all(len(line) <= width for line in lines)
    assert [line.split()[0] for line in lines[:3]] == ["goodput", "main", "migrated"]
    assert "█" in lines[1]
    # the end is drawn as well: the last flow ends with the run
    assert any(line.rstrip("Gb/s .0123456789")[-1] in BLOCKS[1:] for line in lines[1:3])


def test_many_flows_are_one_line(store: Store) -> None:
    flow = {"name": "flow-[1-9]", "size": "1 MB", "src": "s1", "dst": "r1", "path": "green"}
    scenario = Scenario.from_dict({"network": "aykurt", "flows": [flow]})
    (run,) = campaign([scenario], store=store, workers=1, progress=False)
    assert [line.plain.split("  ")[0].strip() for line in chart.chart(run, 80)][1].startswith("all flows")


def test_checks_wrap_at_the_width_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    long = "word " * 40
    show_checks(
        [
            {"what": "kernel", "ok": True, "result": long, "remedy": "", "needed": True},
            {"what": "p4c", "ok": False, "result": "none", "remedy": "buy one", "needed": False},
        ]
    )
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 72
    assert sum(line.count("word") for line in lines) == 40
    assert "to mend it: buy one" in " ".join(lines)
