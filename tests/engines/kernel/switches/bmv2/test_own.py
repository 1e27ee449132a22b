# SPDX-License-Identifier: Apache-2.0
"""Users' own P4 programs: the shipped example, and the messages if a program does not work as expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.kernel import KernelEngine
from rdcnlab.engines.kernel.switches.bmv2 import hints as hints_p4
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.campaign import HintWarning, campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system import places
from tests.engines.conftest import RunGuest

needs_bmv2 = [
    pytest.mark.guest,
    pytest.mark.bmv2,
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(bmv2_install.missing()), reason=f"{', '.join(bmv2_install.missing())} is missing. {bmv2_install.WHERE}"
    ),
]
EXAMPLE = places.p4() / "examples" / "parity.yaml"
INTERVAL = 10_000_000


def example(**changes: Any) -> Scenario:
    return Scenario.load(EXAMPLE).with_(**changes)


def test_the_example_says_no_more_than_it_needs() -> None:
    scenario = example()
    assert [flow.path for flow in scenario.flows] == ["bypass"]
    assert scenario.switch.program is not None
    assert Path(scenario.switch.program.path).name == "parity.json"


class TestExample:
    pytestmark = needs_bmv2

    def test_payload_takes_the_link_of_its_interval(self, run_guest: RunGuest) -> None:
        """The rule holds for every packet: in an even interval of 10 ms it takes green, otherwise blue."""
        seen = run_guest(example(**{"probes.packets": True, "jitter.start": 0}), core=0).tables
        assert seen["flows"]["finished"].all()
        arrivals = seen["events"]
        arrivals = arrivals[(arrivals["event"] == "enqueue") & arrivals["link"].isin(["green", "blue"])]
        assert len(arrivals) >= 64 * 2**20 // 8948
        parity = arrivals["t_ns"] // INTERVAL % 2
        assert (parity.map({0: "green", 1: "blue"}) == arrivals["link"]).all()
        assert arrivals["t_ns"].max() // INTERVAL >= 5

    def test_the_start_may_be_moved(self, run_guest: RunGuest) -> None:
        scenario = example(**{"probes.packets": True, "jitter.start": 0, "flows.main.size": "16 MiB"})
        moved = [line.replace("{start_us}", "{start_us-10000}") for line in scenario.switch.entries]
        arrivals = run_guest(scenario.with_(**{"switch.entries": moved}), core=0).tables["events"]
        arrivals = arrivals[(arrivals["event"] == "enqueue") & arrivals["link"].isin(["green", "blue"])]
        assert ((arrivals["t_ns"] // INTERVAL % 2).map({0: "blue", 1: "green"}) == arrivals["link"]).all()


class TestHints:
    pytestmark = needs_bmv2

    def test_a_run_that_delivers_nothing_says_where_packets_went(self, store: Store) -> None:
        """The entry of the receiver is missing: the sender's packets enter the switch, and none leaves it."""
        scenario = example(limit="100 ms", **{"flows.main.size": "1 MiB"})
        entries = [line for line in scenario.switch.entries if "{mac:r1}" not in line]
        silent = scenario.with_(**{"switch.entries": entries})
        with pytest.warns(HintWarning, match="no flow received a byte through parity.json") as caught:
            runs = campaign([silent], store=store, workers=1, progress=False)
        assert not runs.flows["finished"].any()
        message = str(caught[0].message)
        for words in ("came into the switch: 1 at 1 (s1)", "left it: none", "{mac:s1}", "{green.end}"):
            assert words in message
        # the hint comes again if the stored run is only looked up
        with pytest.warns(HintWarning, match="no flow received a byte"):
            campaign([silent], store=store, workers=1, progress=False)

    def test_an_endless_resubmit_ends_with_a_word_on_it(self, tmp_path: Path) -> None:
        """Virtual time is very slow in this case, so the wall-clock limit ends the run.

        A busy machine may need longer until the first packet is in the switch.
        """
        scenario = example(**{"switch.program": str(resubmitting(tmp_path / "endless.json"))})
        messages: list[str] = []
        for limit_s in (10, 20, 40, 80):
            directory = tmp_path / f"run{limit_s}"
            directory.mkdir()
            with pytest.raises(RunError, match=f"took longer than the limit of {limit_s} s of wall clock") as caught:
                KernelEngine(scenario).run(directory, core=0, wall_limit_s=limit_s)
            messages.append(str(caught.value))
            if "resubmits or recirculates without end" in messages[-1]:
                break
        assert "resubmits or recirculates without end" in messages[-1], messages


def resubmitting(path: Path) -> Path:
    """Write a variant of the example's program that resubmits forever each packet that it would drop or forward.

    Without entries, it would drop all packets.
    """
    program = json.loads((EXAMPLE.parent / "parity.json").read_text())
    for action in program["actions"]:
        if action["name"] in ("ParityIngress.drop", "ParityIngress.to_port"):
            action["primitives"] = [{"op": "resubmit", "parameters": [{"type": "hexstr", "value": "0x1"}]}]
    program["field_lists"] = [{"id": 1, "name": "nothing", "elements": []}]
    path.write_text(json.dumps(program))
    return path


def hint_of(directory: Path, scenario: Scenario, received: int) -> str | None:
    """Write the files that a run leaves, and return the hint about them."""
    (directory / "flows.jsonl").write_text(json.dumps({"flow": "main", "received_B": received}) + "\n")
    ports = [["p-s1", 1, 7, 0], ["p-r1", 3, 0, 0], ["l0a", 256, 0, 7], ["l0b", 257, 7, 0], ["dark", 254, 0, 0]]
    (directory / "switch.json").write_text(json.dumps({"ports": ports}))
    return hints_p4.nothing_delivered(compile_network(scenario), directory)


def test_ports_are_called_as_in_entries(tmp_path: Path) -> None:
    hint = hint_of(tmp_path, example(), 0)
    assert hint is not None
    assert "came into the switch: 7 at 1 (s1), 7 at 257 (green.end); left it: 7 at 256 (green)." in hint


def test_nothing_is_said_where_something_came(tmp_path: Path) -> None:
    assert hint_of(tmp_path, example(), 1) is None


def test_nothing_is_said_of_our_own_program(tmp_path: Path) -> None:
    ours = Scenario.from_dict({"network": "aykurt", "flows": [{"name": "main", "size": 1, "path": "green"}]})
    assert hint_of(tmp_path, ours.with_(**{"switch.kind": "bmv2"}), 0) is None


def test_a_failed_run_that_delivered_nothing_says_so(tmp_path: Path) -> None:
    scenario = example()
    hint_of(tmp_path, scenario, 0)
    error = hints_p4.explained(
        RunError("flow main: connect: Connection timed out"), compile_network(scenario), tmp_path
    )
    assert error.reason.startswith("flow main: connect: Connection timed out; no flow received a byte")


def test_only_a_program_of_ones_own_is_suspected(tmp_path: Path) -> None:
    error = RunError("the run took longer than the limit of 60 s of wall clock", tmp_path / "console.log")
    told = hints_p4.explained(error, compile_network(example()), tmp_path)
    assert "resubmits or recirculates without end" in told.reason
    assert told.log == error.log
    ours = Scenario.from_dict({"network": "aykurt", "flows": [{"name": "main", "size": 1, "path": "green"}]})
    assert hints_p4.explained(error, compile_network(ours.with_(**{"switch.kind": "bmv2"})), tmp_path) is error
