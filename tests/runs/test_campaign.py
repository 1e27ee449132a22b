# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rdcnlab.engines import get_engine
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.campaign import CampaignError, campaign, hints_of, label, lookup
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from tests.conftest import alive, wait_for
from tests.fake_engine import CRASHES, DIES, FAILS, SLEEPS

pytestmark = pytest.mark.usefixtures("fake_engine")


def test_runs_come_in_order_with_their_fields(store: Store, two_flows: Scenario) -> None:
    scenarios = [two_flows.with_(period=period, seed=seed) for period in ("50 ms", "1 ms") for seed in (1, 2)]
    runs = campaign([*scenarios, scenarios[0]], store=store, workers=2, progress=False)
    assert [run.scenario for run in runs] == scenarios
    assert list(runs.scenarios["period_ms"]) == [50, 50, 1, 1]
    assert list(runs.flows.columns[:4]) == ["run", "seed", "period_ms", "flow"]
    assert len(runs.flows) == 8
    assert set(runs.throughput["cc"]) == {"cubic"}
    assert set(runs.events["event"]) == {"slot"}
    assert runs.queues.empty
    assert list(runs.tcp.query("run == 2")["period_ms"].unique()) == [1]


def test_one_scenario_is_a_campaign(store: Store, two_flows: Scenario) -> None:
    (run,) = campaign(two_flows, store=store, workers=1, progress=False)
    assert run.scenario == two_flows


def test_other_settings_that_vary_have_columns(store: Store, two_flows: Scenario) -> None:
    scenarios = [two_flows.with_(switch__ecn_threshold=size, cc="dctcp") for size in ("5 kB", "10 kB")]
    runs = campaign(scenarios, store=store, workers=1, progress=False)
    assert list(runs.flows.groupby("run")["switch.ecn_threshold"].first()) == [5000, 10000]
    assert list(runs.scenarios["cc"]) == ["dctcp", "dctcp"]
    triples = [two_flows.with_(**{"transport.rmem": [4096, 131072, size]}) for size in (10**6, 10**7)]
    runs = campaign(triples, store=store, workers=1, progress=False)
    assert list(runs.flows.groupby("run")["transport.rmem"].first()) == [
        "4096, 131072, 1000000",
        "4096, 131072, 10000000",
    ]


def test_resumes(store: Store, two_flows: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    scenarios = [two_flows.with_(seed=seed) for seed in range(3)]
    campaign(scenarios[:2], store=store, progress=False)
    before = {path.name: path.stat().st_mtime_ns for path in store.root.iterdir() if not path.name.startswith(".")}
    runs = campaign(scenarios, store=store, progress=False)
    assert len(runs) == 3
    assert all((store.root / name).stat().st_mtime_ns == then for name, then in before.items())
    # another engine makes other runs
    monkeypatch.setenv("FAKE_IDENTITY", "0ther")
    assert {run.id for run in campaign(scenarios, store=store, progress=False)}.isdisjoint(run.id for run in runs)


def test_the_number_of_workers_does_not_matter(tmp_path: Path, two_flows: Scenario) -> None:
    scenarios = [two_flows.with_(seed=seed) for seed in range(4)]
    digests = []
    for workers in (1, 3):
        runs = campaign(scenarios, store=Store(tmp_path / str(workers)), workers=workers, progress=False)
        digests.append([run.digests for run in runs])
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("seed", "reason"), [(FAILS, "the guest panicked"), (DIES, "SIGKILL"), (CRASHES, "a fault of ours")]
)
def test_a_failure_does_not_stop_the_others(store: Store, two_flows: Scenario, seed: int, reason: str) -> None:
    scenarios = [two_flows.with_(seed=number) for number in (1, seed, 2, 3)]
    with pytest.raises(CampaignError, match=reason) as caught:
        campaign(scenarios, store=store, workers=2, progress=False)
    assert [failure.scenario.seed for failure in caught.value.failures] == [seed]
    assert [run.scenario.seed for run in caught.value.runs] == [1, 2, 3]
    if seed == FAILS:
        log = caught.value.failures[0].error.log
        assert log is not None
        assert log.read_text() == "what went on\n"
    assert len(list(store)) == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_parents_end_ends_the_workers(tmp_path: Path, two_flows: Scenario, number: signal.Signals) -> None:
    """After Ctrl-C, or kill -9 of the parent, the running engine cleans up, and finished runs are kept."""
    root = tmp_path / "runs"
    code = (
        "import sys\nfrom rdcnlab import Scenario, Store, campaign\nbase = Scenario.load(sys.argv[1])\n"
        f"campaign([base.with_(seed=s) for s in (1, 2, {SLEEPS})], store=Store(sys.argv[2]), workers=1, progress=False)"
    )
    (tmp_path / "s.json").write_text(two_flows.json())
    command = [sys.executable, "-c", code, str(tmp_path / "s.json"), str(root)]
    parent = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    worker = int(wait_for(lambda: next((path.name for path in tmp_path.glob("[0-9]*")), None)))
    parent.send_signal(number)
    assert parent.wait(20) != 0
    wait_for(lambda: not alive(worker))
    assert (tmp_path / "cleaned").exists()
    store = Store(root)
    assert sorted(run.scenario.seed for run in store) == [1, 2]
    assert not list((root / ".work").iterdir())


def test_bad_number_of_workers(store: Store, two_flows: Scenario) -> None:
    with pytest.raises(InputError, match="workers: 0"):
        campaign([two_flows], store=store, workers=0)


def test_each_run_is_looked_up_by_what_makes_it(
    store: Store, two_flows: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The identity of an engine also depends on the programs that flows need."""
    quic = two_flows.with_(**{"flows.main.protocol": "quic"})
    monkeypatch.setattr(type(get_engine(two_flows)), "identity", lambda self: self.scenario.flows[0].protocol)
    for scenario in (two_flows, quic):
        engine = get_engine(scenario)
        with store.workspace(scenario.hash) as directory:
            outcome = engine.run(directory, core=None, wall_limit_s=1)
            store.put(scenario, engine.identity(), outcome, directory)
    assert None not in lookup([two_flows, quic], store)
    assert None not in lookup([quic, two_flows], store)


def test_what_runs_say_is_shown_in_a_few_sentences(two_flows: Scenario) -> None:
    def run(seed: int, *, hint: str | None) -> Run:
        provenance = {} if hint is None else {"hint": hint}
        return SimpleNamespace(scenario=two_flows.with_(seed=seed), provenance=provenance)  # type: ignore[return-value]

    assert hints_of([run(1, hint=None)]) == []
    assert [sentence.endswith(": a buffer limits") for sentence in hints_of([run(1, hint="a buffer limits")])] == [True]
    many = hints_of([run(seed, hint="a buffer limits") for seed in range(5)])
    assert len(many) == 4
    assert many[-1] == "2 more runs say such a thing"
    assert hints_of([run(seed, hint="a buffer limits") for seed in range(4)])[-1] == "1 more run says such a thing"


def test_a_message_names_flows_by_what_carries_them_or_programs() -> None:
    network = {"fabric": "dumbbell"}
    udp = {"name": "u", "src": "s1", "dst": "r1", "protocol": "udp", "rate": "1 Mb/s", "size": "1 MB"}
    tcp = [{"name": f"f{n}", "src": "s1", "dst": "r1", "size": "1 MB", "cc": "bbr"} for n in (1, 2, 3)]
    assert label(Scenario.from_dict({"network": network, "flows": [udp, *tcp]}, text=True)) == (
        "(u udp, f1 bbr, f2 bbr and 1 more; seed 0)"
    )
    program = {"name": "web", "host": "r1", "run": "true"}
    assert label(Scenario.from_dict({"network": network, "programs": [program]}, text=True)) == "(program web; seed 0)"
