# SPDX-License-Identifier: Apache-2.0
"""Many items: what is checked before, what is run in which order, what an error or Ctrl-C leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab_papers import aykurt, carpa, vargas
from rdcnlab_papers.app import notebooks
from rdcnlab_papers.app.reproduce.all import Reproduced, _runs_on, reproduce
from rdcnlab_papers.app.reproduce.display import Display
from rdcnlab_papers.app.reproduce.plan import Batch, Job, plan, work
from tests.fake_engine import FAILS

QUICK = {"profile": "quick", "workers": None}


@pytest.fixture
def own_store(fake_engine: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    return Store(tmp_path / "runs", shipped=Shipped(tmp_path / "none"))


def test_a_parameter_that_one_notebook_lacks_is_refused_before_anything_runs(own_store: Store, tmp_path: Path) -> None:
    # table I has no parameter `size`; figure 3 has, and would run first
    with pytest.raises(InputError, match="parameter size of aykurt/tab1"):
        reproduce([aykurt.fig3, aykurt.tab1], {**QUICK, "size": "16 MB"}, tmp_path / "out", progress=False)
    with pytest.raises(InputError, match="periods_ms"):
        reproduce([aykurt.fig4], {**QUICK, "periods_ms": [7]}, tmp_path / "out", progress=False)
    assert not own_store.hashes()
    assert not (tmp_path / "out").exists()


def test_the_plan_has_the_cheapest_item_first_and_no_run_twice(own_store: Store) -> None:
    kinds = [aykurt.fig4, aykurt.fig5, aykurt.tab1]
    jobs = plan(kinds, {"profile": "quick", "seeds": 2}, own_store)
    assert jobs[0].work == min(plan([kind], {"profile": "quick", "seeds": 2}, own_store)[0].work for kind in kinds)
    asked = [scenario.hash for job in jobs for batch in job.batches for scenario in batch.missing]
    assert len(asked) == len(set(asked))
    # figures 4 and 5 share runs, which therefore are in one job only
    alone = sum(job.missing for kind in kinds for job in plan([kind], {"profile": "quick", "seeds": 2}, own_store))
    assert 0 < len(asked) < alone


def packets(scenario: Scenario, **changes: Any) -> float:
    """Return the work of a scenario beyond that of the same one whose flows have nothing to send."""
    return work(scenario.with_(**changes)) - work(scenario.with_(**{**changes, "size": "1 B"}))


def test_the_work_of_a_run_grows_with_the_packets_that_its_network_carries(two_flows: Scenario) -> None:
    whole = packets(two_flows)
    assert packets(two_flows, size="32 MiB") == pytest.approx(2 * whole, rel=1e-3)
    # at 10 Gb/s 5 ms are 6.25 MB for each flow, of 16 MiB
    short = {"limit": "5 ms", "jitter.start": 0}
    assert packets(two_flows, **short) == pytest.approx(whole * 6_250_000 / (16 * 2**20), rel=1e-3)
    # both links together carry less than the hosts can send
    slow = {"network.links.green.rate": "2 Gb/s", "network.links.blue.rate": "3 Gb/s"}
    assert packets(two_flows, **short, **slow) == pytest.approx(packets(two_flows, **short) / 4, rel=1e-3)
    # with several switches, what leaves the sender's
    wide = carpa.cost().points()[0].with_(**{"engine.kind": "kernel"})
    assert packets(wide, **{"network.links.access1.rate": "50 Mb/s"}) == pytest.approx(packets(wide) / 2, rel=1e-3)
    assert work(two_flows) > 0.5
    assert packets(two_flows, **{"engine.kind": "ns3"}) > 2 * whole


def test_the_display_counts_and_estimates_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    display = Display(items=3, runs=4, work=40.0, shown=False)
    assert display.line() == "0 of 3 items, 0 of 4 missing runs"
    now = 110.0
    display.works_on("aykurt/fig4")
    display.ran(10.0, failed=False)
    # 10 s for a quarter of the work
    assert display.left_s == 30.0
    assert display.line() == "0 of 3 items, 1 of 4 missing runs, about 30 s left for runs: aykurt/fig4"
    display.ran(10.0, failed=True)
    display.count_executed(failed=False)
    assert display.line() == "1 of 3 items, 2 of 4 missing runs, about 10 s left for runs, 1 failed: aykurt/fig4"


@pytest.mark.slow
def test_an_item_that_fails_leaves_the_others_complete(
    own_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = aykurt.fig8a.points

    def one_fails(item: Any) -> list[Scenario]:
        return [scenario.with_(seed=FAILS) if not at else scenario for at, scenario in enumerate(points(item))]

    monkeypatch.setattr(aykurt.fig8a, "points", one_fails)
    ended: list[Reproduced] = []
    found = reproduce([aykurt.fig8a, aykurt.tab1], QUICK, tmp_path / "out", progress=False, ended=ended.append)
    failed, done = found
    assert "1 of 6 runs failed" in failed.error
    assert failed.runs == 5
    assert failed.notebook is None
    assert done.error == ""
    assert done.notebook == tmp_path / "out" / "aykurt" / "tab1.ipynb"
    assert {row.item for row in done.rows} == {"tab1"}
    assert {each.name for each in ended} == {"aykurt/fig8a", "aykurt/tab1"}
    # started again it has nothing left to run but the failed one
    (job,) = plan([aykurt.fig8a], QUICK, own_store)
    assert job.missing == 1


def test_runs_on_a_cluster_have_the_time_that_their_engines_give_them(
    own_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool of a cluster serves all items, so the longest limit is its own."""
    monkeypatch.delenv("RDCNLAB_ENGINE")
    limits: list[float] = []
    slow, fast = vargas.fig2(column="ns3"), aykurt.fig4()
    jobs = [Job(type(item), item, (Batch(item, tuple(item.scenarios()[:1])),)) for item in (slow, fast)]

    class Pool:
        def __init__(self, cluster: object, store: Store, *, wall_limit_s: float) -> None:
            limits.append(wall_limit_s)

        def close(self) -> None:
            pass

    monkeypatch.setattr("rdcnlab.runs.pools.cluster.ClusterPool", Pool)
    for chosen in (jobs, jobs[1:]):
        with _runs_on("tcp://10.0.0.1:8786", chosen, own_store):
            pass
    assert limits == [14_400, 1800]


def test_ctrl_c_ends_everything_and_keeps_finished_runs(own_store: Store, tmp_path: Path) -> None:
    script = (
        "from rdcnlab.app.cli import main\nimport sys\n"
        "if __name__ == '__main__':\n    sys.argv = ['', 'reproduce', 'aykurt/tab1', 'aykurt/fig3']\n    main()\n"
    )
    (tmp_path / "go.py").write_text(script)
    process = subprocess.Popen(
        [sys.executable, "go.py"], cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 120
    while not own_store.hashes() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "finished runs are kept" in said
    assert "Traceback" not in said
    assert own_store.hashes()
    # no notebook that looks complete but is not
    for path in (tmp_path / "out").rglob("*.ipynb"):
        assert path.name.endswith(".part.ipynb") or "application/papermill" not in path.read_text()


def test_a_failed_notebook_is_kept_under_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fails(Exception):
        ename, evalue = "KeyError", "'main'"

    import papermill

    def fails(source: Path, target: Path, **_: Any) -> None:
        target.write_text("{}")
        raise Fails

    monkeypatch.setattr(papermill, "execute_notebook", fails)
    monkeypatch.setattr(papermill, "PapermillExecutionError", Fails)
    with pytest.raises(Exception, match="the notebook aykurt/fig4 failed: KeyError"):
        notebooks.execute(notebooks.path(aykurt.fig4), tmp_path / "fig4.ipynb", {})
    assert [path.name for path in tmp_path.iterdir()] == ["fig4.failed.ipynb"]
