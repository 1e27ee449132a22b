# SPDX-License-Identifier: Apache-2.0
"""Documents say what a scenario gives on every machine; the guest gives it.

Blocks of Python are executed as they are in the document. If these are many runs, some of them are made here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from rdcnlab.engines.kernel.build import Kernel
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.kernel.switches.ovs import install as ovs_install
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from tests.test_documents import ROOT, assert_says, blocks, in_one_line, write_files

pytestmark = pytest.mark.slow

_SEEDS = range(5)


class Document:
    """A document whose scenarios are run, and whose numbers are compared with the runs.

    Parameters
    ----------
    path : Path
        The document. What it shows as files is written into the working directory.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.names = path, {"Scenario": Scenario, "campaign": campaign}
        self.text = in_one_line(path)
        write_files(path, Path())

    def execute(self, *indices: int) -> dict[str, Any]:
        """Execute some blocks of Python that are not files, and return their names."""
        found = [block for block in blocks(self.path) if block.language == "python" and not block.name]
        for index in indices:
            exec(compile(found[index].text, f"{self.path.name}:{found[index].line}", "exec"), self.names)
        return self.names

    def says(self, sentence: str, *values: float) -> None:
        """Assert that it has a sentence once, with these values; see `tests.test_documents.assert_says`."""
        assert_says(self.text, sentence, *values)


Open = Callable[[str], Document]


@pytest.fixture
def document(kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Open a document by its path in the repository; its runs are made here."""
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.setenv("RDCNLAB_RESULTS", "none")
    monkeypatch.chdir(tmp_path)
    return lambda name: Document(ROOT / name)


def made(*scenarios: Scenario) -> Runs:
    return campaign(scenarios, progress=False, hints=False)


def of_flow(runs: Runs, flow: str) -> pd.DataFrame:
    """Return a row for each run."""
    return runs.flows[runs.flows["flow"] == flow].reset_index(drop=True)


def queues(runs: Runs) -> tuple[float, float]:
    """Return the mean number of packets that a run loses in queues, and the longest queue in kB."""
    return runs.queues.groupby("run")["drops"].sum().mean(), runs.queues["max_B"].max() / 1e3


def test_the_first_scenario_gives_the_numbers_that_readers_compare_with(document: Open) -> None:
    names = ("README.md", "docs/tutorial/1-first-scenario.md", "docs/artifact-appendix.md")
    readme, tutorial, appendix = (document(name) for name in names)
    texts = [next(block.text for block in blocks(ROOT / name) if block.name == "two-flows.yaml") for name in names]
    scenarios = {Scenario.from_dict(yaml.safe_load(text), text=True) for text in texts}
    assert len(scenarios) == 1
    (run,) = runs = made(*scenarios)
    times = run.tables["flows"].to_pandas().set_index("flow")
    main, migrated = (times.loc[flow] for flow in ("main", "migrated"))
    for name, flow in (("main", main), ("migrated", migrated)):
        gigabits = 8 * flow["size_B"] / flow["fct_s"] / 1e9
        readme.says(f"| {name} | # | # | # |", flow["fct_s"], gigabits, flow["retransmits"])
    tutorial.says("It should be # s and # s on every machine", main["fct_s"], migrated["fct_s"])
    appendix.says("`fct_s` of # for `main` and # for `migrated`", main["fct_s"], migrated["fct_s"])
    appendix.says("with # retransmissions of `migrated`", migrated["retransmits"])
    moves = (runs.events["event"] == "slot").sum() - 1  # the first slot begins with the flow
    assert f"is moved {['ten', 'eleven', 'twelve'][moves - 10]} times" in tutorial.text


def test_the_rotornet_of_the_readme(document: Open) -> None:
    readme = document("README.md")
    runs = readme.execute(0)["runs"]
    for split, flow in zip(("slot", "packet", "flow"), runs.flows.itertuples(), strict=True):
        readme.says(f"| `{split}` | # | # |", flow.fct_s, flow.retransmits)
    assert [(run.events["event"].str.startswith("drop")).sum() for run in runs] == [0, 0, 0]
    readme.says("nothing is lost, and CUBIC sends # segments again", runs.flows["retransmits"][1])
    for run in runs:
        words = run.limits()["limited_by"][0]
        assert words in readme.text or words.split("; ")[1] in readme.text


def test_an_own_network(document: Open) -> None:
    text = document("docs/tutorial/2-own-network.md")
    rotor = Scenario.load("rotor.yaml")
    text_of_rotor = Path("rotor.yaml").read_text()
    Path("unmarked.yaml").write_text(text_of_rotor.replace(", ecn_threshold: 10 packets", ""))
    unmarked = Scenario.load("unmarked.yaml")
    assert unmarked != rotor
    mine, marked, lossy = (made(scenario) for scenario in (Scenario.load("mine.yaml"), rotor, unmarked))
    text.says("`a` takes # s and `b` # s.", *mine.flows["fct_s"])
    windows = mine.tcp[(mine.tcp["flow"] == "a") & (mine.tcp["t_ns"] <= 10_000_000)]
    text.says("arrives at the slow link with a window of # kB", windows["cwnd_B"].iloc[-1] / 1e3)
    retransmits = [of_flow(runs, "far")["retransmits"][0] for runs in (lossy, marked)]
    text.says("`far` would retransmit # packets instead of #.", *retransmits)


def test_congestion_controls_of_linux(document: Open) -> None:
    text = document("docs/tutorial/3-own-variant.md")
    times = made(Scenario.load("delay.yaml")).flows.set_index("flow")["fct_s"]
    text.says("`illinois` takes # s, `vegas` # s and `nv` # s.", *times[["illinois", "vegas", "nv"]])


@pytest.mark.skipif(bool(bmv2_install.missing()), reason="BMv2 is missing")
def test_an_own_p4_program(document: Open) -> None:
    text = document("docs/tutorial/4-own-p4-program.md")
    names = text.execute(0)
    text.says("The flow takes # s, and nothing is retransmitted.", names["runs"].flows["fct_s"][0])
    assert names["runs"].flows["retransmits"].sum() == 0
    # green begins, and a link that carries nothing has no row
    full = names["rates"].fillna(0).loc[1:53]
    assert ((full["green"] > 9) == (full.index // 10 % 2 == 0)).all()
    assert ((full["blue"] > 9) == (full.index // 10 % 2 == 1)).all()


@pytest.mark.ovs
@pytest.mark.skipif(bool(ovs_install.missing()) or not ovs_install.has_controller(), reason=ovs_install.REMEDY)
def test_an_own_controller(document: Open) -> None:
    text = document("docs/tutorial/5-own-controller.md")
    runs = made(Scenario.load("once.yaml"))
    text.says("`fn` takes # s and `fm` # s.", *runs.flows["fct_s"])
    received = runs.throughput[(runs.throughput["where"] == "receiver") & runs.throughput["bin"].between(30, 79)]
    text.says("each has # Gb/s", *(8 * received.groupby("flow", observed=True)["bytes"].sum().unique()[:1] / 50e6))


def test_a_first_figure(document: Open) -> None:
    text = document("docs/tutorial/6-first-figure.md")
    ratios = text.execute(0, 1)["longer"]["mean"]
    text.says("The ratio of completion times is # at a period of 2 ms, and # at 10 ms", ratios[2], ratios[10])
    percent = 100 * (ratios - 1)
    text.says("at 2 ms the migrated flow takes # % longer than the main flow, at 5 ms # %", percent[2], percent[5])


def test_programs_in_a_network(document: Open) -> None:
    text = document("docs/tutorial/7-own-program.md")
    one, fair = (times[:, 1] for times in text.execute(0)["answers"])
    (first,), (next_ones,) = ({*one[:1], *fair[:1]}, {*one[1:15], *fair[1:15]})
    text.says("without other traffic, an answer takes # ms, each time (the first one # ms)", next_ones, first)
    text.says("answers take longer and longer, up to # ms", one.max())
    text.says("With `fq_codel` no answer takes more than # ms", np.ceil(10 * fair.max()) / 10)


def test_exercise_1_takes_the_time_of_the_line_and_a_constant(document: Open) -> None:
    text = document("docs/exercises.md")
    flows = text.execute(0)["runs"].flows
    assert flows["retransmits"].sum() == 0
    line_ms = flows["size_B"] * 8 * 9038 / 8948 / 10e9 * 1e3
    more_ms = 1e3 * flows["fct_s"] - line_ms
    for index, size in enumerate(("100 kB", "1 MB", "10 MB", "100 MB")):
        text.says(f"| {size} | # | # | # |", line_ms[index], 1e3 * flows["fct_s"][index], more_ms[index])
    percent = 100 * more_ms / line_ms
    text.says("# % of the line's time for 1 MB, # % for 100 MB", percent[1], percent[3])


def test_exercise_2_has_two_kinds_of_runs(document: Open) -> None:
    text = document("docs/exercises.md")
    base = Scenario.load("exchange.yaml")
    slow, usual = (
        of_flow(made(*(base.with_(period=period, seed=seed) for seed in _SEEDS)), "moves")
        for period in ("40 ms", "20 ms")
    )
    late = slow["timeouts"] > 0
    seeds = slow["seed"][late].tolist()
    quicker = made(*(base.with_(**{"period": "40 ms", "seed": s, "transport.rto_min_us": 10_000}) for s in seeds))
    cells = [slow["fct_s"][~late].mean(), (~late).sum(), *slow["fct_s"][late]]
    cells += [*of_flow(quicker, "moves")["fct_s"], slow["retransmits"].mean()]
    text.says("| 40 | # (# runs) | #, # | #, # | # |", *cells)
    assert not usual["timeouts"].any()
    text.says("| 20 | # (# runs) | none | none | # |", usual["fct_s"].mean(), len(usual), usual["retransmits"].mean())


def test_exercise_3_has_losses_and_delay(document: Open) -> None:
    text = document("docs/exercises.md")
    base = Scenario.load("exchange.yaml")
    small = {f"network.links.{link}.buffer": "30 kB" for link in ("one", "two")}
    runs = made(*(base.with_(**small, seed=seed) for seed in _SEEDS))
    means = runs.flows.groupby("flow")[["fct_s", "retransmits"]].mean()
    lost, longest = queues(runs)
    cells = [*means.loc["stays"], *means.loc["moves"], lost, longest, longest * 8e3 / 1e9 * 1e3]
    text.says("| 30 kB | #, # | #, # | # | # kB | # ms |", *cells)


def test_exercise_4_loses_nothing_with_marks(document: Open) -> None:
    text = document("docs/exercises.md")
    marked = Scenario.load("exchange.yaml").with_(**{"cc": "dctcp", "switch.ecn_threshold": "60 kB"})
    runs = made(*(marked.with_(seed=seed) for seed in _SEEDS))
    means = runs.flows.groupby("flow")[["fct_s", "retransmits"]].mean()
    text.says("| 60 kB | #, # | #, # | # | # kB |", *means.loc["stays"], *means.loc["moves"], *queues(runs))


def test_exercise_5_is_faster_than_the_line(document: Open) -> None:
    text = document("docs/exercises.md")
    runs = text.execute(4)["runs"]
    cases = ("stays on `near`", *(f"`far` has {delay}" for delay in ("10 us", "100 us", "300 us", "1 ms")))
    for index, case in enumerate(cases):
        alone = Runs([runs[index]])
        flow = alone.flows.iloc[0]
        text.says(f"| {case} | # | # | # | # kB |", flow["fct_s"], flow["retransmits"], *queues(alone))
    stays_s, moves_s = runs.flows["fct_s"][:2]
    line_s = 20e6 * 8 * 1538 / 1448 / 1e9
    text.says(
        "Its payload needs # s on one of them. It completes in # s, with #",
        line_s,
        moves_s,
        runs.flows["retransmits"][1],
    )
    waiting = queues(Runs([runs[1]]))[1]
    text.says("up to # kB wait at the old link; they need # ms", waiting, waiting * 8e3 / 1e9 * 1e3)
    text.says("The flow gains # ms", 1e3 * (stays_s - moves_s))
    windows = [run.tables["tcp"].to_pandas().set_index("t_ns")["cwnd"] for run in runs]
    at_ns = 14_000_000, 131_000_000
    text.says("it has # packets at 14 ms, and again at 131 ms", *{windows[1].loc[:end].iloc[-1] for end in at_ns})
    text.says("The window of the flow that stays grows to # packets", windows[0].max())
    # the odd spans of 10 ms begin with a move to `far`
    spans = runs.events[runs.events["event"] == "retransmit"].assign(far=lambda rows: rows["t_ns"] // 10_000_000 % 2)
    counts = spans.groupby(["run", "far"]).size()
    text.says("Retransmissions after a move to `far` fall from # to #.", counts[1, 1], counts[4, 1])
    text.says("the same (# and #)", counts[1, 0], counts[4, 0])
