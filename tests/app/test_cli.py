# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rdcnlab.app.cli import main, parse_seeds
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.stored import seal
from rdcnlab.scenario import Scenario
from tests.conftest import with_papers
from tests.fake_engine import FAILS

pytestmark = pytest.mark.usefixtures("fake_engine")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_flows: Scenario) -> Path:
    """A directory with ``s.yaml`` and its own store."""
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(two_flows.dump())
    return tmp_path


@dataclass(frozen=True)
class Done:
    """A finished command."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def rdcnlab(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process, which saves a second each time."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> Done:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["rdcnlab", *arguments])
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code
        else:
            code = 0
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        return Done(int(code or 0), *capfd.readouterr())

    return run


def test_as_a_program(here: Path) -> None:
    command = [sys.executable, "-c", "from rdcnlab.app.cli import main; main()", "run", "none.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("rdcnlab: scenario: there is no file 'none.yaml'")


def test_run(here: Path, rdcnlab: Run) -> None:
    done = rdcnlab("run", "s.yaml", "--seeds", "1-2", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["seed"], row["flow"]) for row in rows] == [(1, "main"), (1, "migrated"), (2, "main"), (2, "migrated")]
    assert rows[0]["goodput_Gbps"] == pytest.approx(10, rel=0.1)
    assert "migrated" in rdcnlab("run", "s.yaml", "--seeds", "1-2").stdout


def test_a_flow_that_does_not_finish_has_a_goodput_until_the_end(here: Path, rdcnlab: Run) -> None:
    base = Scenario.load(here / "s.yaml").with_(size="1 TiB", limit="20 ms", seed=1)
    (here / "endless.yaml").write_text(base.dump())
    rows = json.loads(rdcnlab("run", "endless.yaml", "--json").stdout)
    assert [row["finished"] for row in rows] == [False, False]
    assert rows[0]["goodput_Gbps"] == pytest.approx(10, rel=0.1)
    assert rows[1]["goodput_Gbps"] > 0


def test_a_failed_run_ends_with_one(here: Path, rdcnlab: Run) -> None:
    done = rdcnlab("run", "s.yaml", "--seeds", f"1,{FAILS}")
    assert done.returncode == 1
    assert "1 of 2 runs failed" in done.stderr
    assert "the guest panicked (log: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "none.yaml"),
        ("run", "bad.yaml"),
        ("run", "s.yaml", "--seeds", "5-1"),
        ("run", "s.yaml", "--seeds", "1-99999999999"),
        ("run", "s.yaml", "--profile", "fast"),
        ("run", "s.yaml", "--workers", "0"),
        ("run",),
        ("fly",),
        pytest.param(("score", "paris"), marks=with_papers),
        pytest.param(("reproduce", "aykurt/fig99"), marks=with_papers),
        pytest.param(("reproduce", "aykurt/fig4", "-p", "sizee=3"), marks=with_papers),
        pytest.param(("reproduce", "aykurt/fig4", "-p", "periods_ms=[7]"), marks=with_papers),
        pytest.param(("reproduce", "aykurt/fig4", "-p", "size"), marks=with_papers),
        ("kernel", "build", "--hz", "60"),
        ("verify",),
        pytest.param(("predict", "variant", "none.csv"), marks=with_papers),
        pytest.param(("predict", "variant", "s.yaml"), marks=with_papers),
        pytest.param(("predict", "variant", "empty.csv"), marks=with_papers),
        pytest.param(("predict", "variant", "words.csv"), marks=with_papers),
        pytest.param(("predict", "seconds", "--migrated", "reno"), marks=with_papers),
    ],
)
def test_bad_input_ends_with_two(here: Path, rdcnlab: Run, arguments: tuple[str, ...]) -> None:
    (here / "bad.yaml").write_text("network: aykurt\nflows: [{name: main, size: 1 GiB, cc: vega, path: green}]\n")
    (here / "empty.csv").write_text("t_ns,cwnd_B\n")
    (here / "words.csv").write_text("t_ns,cwnd_B,srtt_us\n1,many,3\n")
    done = rdcnlab(*arguments)
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    assert done.stderr
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "s.yaml", "--cluster", "somewhere"),
        ("run", "s.yaml", "--cluster", "10.0.0.1:8786", "--workers", "2"),
        pytest.param(("reproduce", "aykurt/fig4", "--cluster", "missing.json"), marks=with_papers),
    ],
)
def test_a_cluster_that_is_none_ends_with_two(here: Path, rdcnlab: Run, arguments: tuple[str, ...]) -> None:
    pytest.importorskip("distributed")
    done = rdcnlab(*arguments)
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    assert re.search("is not possible; it must be |must be left out together with a cluster", done.stderr)
    assert not (here / "runs").exists()


@with_papers
def test_score_and_report_without_any_run(here: Path, rdcnlab: Run) -> None:
    from rdcnlab_papers import aykurt

    done = rdcnlab("score", "aykurt", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {row["verdict"] for row in rows} == {"not run"}
    assert {row["item"] for row in rows} == set(aykurt.ITEMS)
    assert list(rows[0])[:7] == ["paper", "item", "claim", "column", "text", "verdict", "expected"]
    assert list(rows[0])[7:13] == ["measured", "cases", "note", "profile", "runs", "shipped"]
    assert list(rows[0])[13:17] == ["holds", "remark", "because", "tried"]
    assert list(rows[0])[17:] == ["own", "counted", "uncounted", "sign", "weak", "was"]
    printed = rdcnlab("score", "aykurt").stdout
    assert "○ not run" in printed
    assert "aykurt/fig4, two CUBIC flows of 2 GB, throughput over time. Column 6.12, no runs." in printed
    assert "aykurt, column 6.12: 0 of 0 counted claims reproduced; " in printed
    assert rdcnlab("report", "aykurt").returncode == 0
    assert "not shipped" in (here / "out" / "report.html").read_text()


@pytest.mark.slow
def test_reproduce_score_report_verify(here: Path, rdcnlab: Run) -> None:
    done = rdcnlab("reproduce", "aykurt/tab1", "aykurt/fig4", "--json")
    assert done.returncode == 0, done.stderr
    assert {row["item"] for row in json.loads(done.stdout)} == {"tab1", "fig4"}
    assert {path.name for path in (here / "out" / "aykurt").glob("fig4*.png")} == {"fig4.png", "fig4-network.png"}
    assert (here / "out" / "aykurt" / "fig4.png").read_bytes().startswith(b"\x89PNG")
    assert "rlc-badge" in (here / "out" / "aykurt" / "fig4.ipynb").read_text()
    scored = json.loads(rdcnlab("score", "aykurt/fig4", "--json").stdout)
    assert [row["runs"] for row in scored if row["column"] == "6.12"] == [30] * 9
    assert rdcnlab("report", "aykurt/fig4").returncode == 0
    assert "data:image/png;base64" in (here / "out" / "report.html").read_text()
    verified = rdcnlab("verify", "--sample", "2", "--json")
    assert verified.returncode == 0, verified.stderr
    assert [row["same"] for row in json.loads(verified.stdout)] == [True, True]


def test_verify_notices_a_difference(here: Path, rdcnlab: Run) -> None:
    rdcnlab("run", "s.yaml")
    (path,) = (here / "runs").glob("*/digest.json")
    path.write_text(path.read_text().replace('"flows":"', '"flows":"x'))
    done = rdcnlab("verify", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)[0]["note"] == "the stored file digest.json is not what was written"
    checked = rdcnlab("runs", "check")
    assert checked.returncode == 1
    assert checked.stdout == f"{path} is damaged; the run is made again when it is needed\n"
    seal(path.parent)  # whoever changes the list of the files, too
    assert rdcnlab("runs", "check").returncode == 0
    done = rdcnlab("verify", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)[0]["note"] == "the stored table flows is not what was measured"


def test_seeds() -> None:
    assert parse_seeds("1-3,7") == [1, 2, 3, 7]
    for wrong in ("", "a", "-1", "3-1", "1-", "٣"):
        with pytest.raises(InputError):
            parse_seeds(wrong)


def test_cautions_are_printed_before_the_run_and_by_show(here: Path, rdcnlab: Run, fake_engine: None) -> None:
    flow = "{name: f, src: s1, dst: r1, size: 1 MB, cc: dctcp}"
    (here / "d.yaml").write_text(f"network: dumbbell\nflows: [{flow}]\n")
    for command in ("run", "show"):
        done = rdcnlab(command, "d.yaml")
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("rdcnlab: warning: flows.f.cc: nothing on the way of flow f marks") == 1
    assert "warning" not in rdcnlab("show", "dumbbell").stderr
