# SPDX-License-Identifier: Apache-2.0
"""Circuits on demand: what the controller chooses, and when packets follow, to the nanosecond."""

from __future__ import annotations

import importlib
import random
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from rdcnlab import InputError
from rdcnlab.engines.kernel import build
from rdcnlab.engines.ns3.check import check as check_ns3
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

MS = 1_000_000


@pytest.fixture
def matchings(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the guest, which is in no package."""
    monkeypatch.syspath_prepend(str(build.HERE / "inside"))
    return importlib.import_module("matchings")


def flow(name: str, src: str, dst: str, size: int = 1_000_000, **more: Any) -> dict[str, Any]:
    return {"name": name, "src": src, "dst": dst, "size": size, "cc": "cubic", "connect": "ahead", **more}


def made(*flows: dict[str, Any], directory: Path | None = None, limit: int = 100 * MS, **network: Any) -> Scenario:
    many = list(flows) or [flow("a", "h1", "h3", 2_000_000), flow("b", "h2", "h4"), flow("c", "h1", "h4")]
    data = {"network": {"fabric": "helios", "racks": 4, **network}, "flows": many, "limit": limit}
    return Scenario.from_dict(data, directory=directory)


def changes(events: pd.DataFrame) -> list[tuple[int, str, str]]:
    """Return the instant, queue and line of each change of a rack's queue for data."""
    slots = events[(events["event"] == "slot") & events["flow"].notna()]
    return sorted(zip(slots["t_ns"], slots["flow"], slots["link"], strict=True))


def test_greedy_gives_circuits_in_the_order_of_demand(matchings: ModuleType) -> None:
    demand = {("a", "b"): 5, ("b", "a"): 5, ("b", "c"): 9, ("c", "d"): 3, ("d", "a"): 1}
    one = dict.fromkeys("abcd", 1)
    # a and b have 10 in both directions, c and d are left
    assert matchings.greedy(demand, [], one) == [("a", "b"), ("c", "d")]
    two = dict.fromkeys("abcd", 2)
    assert matchings.greedy(demand, [], two) == [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    # a second circuit of a and b counts with half of their demand
    assert matchings.greedy({("a", "b"): 10, ("a", "c"): 4}, [], two) == [("a", "b"), ("a", "b")]


def test_a_circuit_stays_where_nobody_wants_its_uplinks(matchings: ModuleType) -> None:
    one = dict.fromkeys("abcd", 1)
    assert matchings.greedy({("a", "b"): 1}, [("c", "d")], one) == [("a", "b"), ("c", "d")]
    assert matchings.greedy({("a", "b"): 1}, [("b", "c")], one) == [("a", "b")]


@pytest.mark.parametrize("seed", range(20))
def test_permutations_carry_the_whole_demand(matchings: ModuleType, seed: int) -> None:
    drawn = random.Random(seed)
    racks = list("abcdefg")
    demand = {(a, b): drawn.choice((0, 0, drawn.randrange(1, 10**6))) for a in racks for b in racks if a != b}
    carried: Counter[tuple[str, str]] = Counter()
    parts = matchings.birkhoff(demand, racks)
    for weight, pairs in parts:
        for ends in zip(*pairs, strict=True):
            assert len(set(ends)) == len(ends)  # each rack sends to one other and receives from one
        for pair in pairs:
            carried[pair] += weight
    assert all(carried[pair] >= size for pair, size in demand.items())
    # no schedule is shorter than the largest row or column, and this one is exactly as long
    rows, columns = Counter[str](), Counter[str]()
    for (a, b), size in demand.items():
        rows[a] += size
        columns[b] += size
    assert sum(weight for weight, _ in parts) <= max([*rows.values(), *columns.values()], default=0)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"every": 100_000}, "more than reaction and two nights"),
        ({"night": 1_000}, "at least"),
        ({"decide": "birkhof"}, "birkhoff"),
        ({"decide": "birkhoff", "uplinks": 2}, "1, with decide birkhoff"),
        ({"routing": "vlb"}, "direct, with demand"),
        ({"controller": "nowhere.py"}, "there is no file"),
        ({"controller": "nowhere.txt"}, "a file of Python"),
    ],
)
def test_wrong_settings_are_refused_in_words(network: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(**network)


def test_ns3_refuses_a_controller() -> None:
    with pytest.raises(InputError, match=r"network\.optics\.demand.*no controller"):
        check_ns3(made().with_(**{"engine.kind": "ns3"}))


def test_the_hash_has_the_file_and_not_its_path(tmp_path: Path) -> None:
    text = "def decide(demand, circuits):\n    return []\n"
    hashes = set()
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(text)
        hashes.add(made(directory=tmp_path, controller=name).hash)
    (tmp_path / "other.py").write_text(text + "\n# other\n")
    assert len(hashes) == 1
    assert made(directory=tmp_path, controller="other.py").hash not in hashes
    again = made(directory=tmp_path, controller="one.py")
    assert Scenario.from_dict(again.to_dict()).hash == again.hash


@pytest.mark.guest
def test_packets_take_a_circuit_at_its_nanosecond(run_guest: RunGuest) -> None:
    """Reading at 1 ms, 100 us of reaction, 20 us of night: circuits at 1.12 ms; they end at a reading and 100 us."""
    seen = run_guest(made())
    events = seen.tables["events"]
    first = events[(events["event"] == "decision") & (events["t_ns"] == MS)]
    assert set(first["link"]) == {"rack1>rack3", "rack2>rack4"}
    assert (first["value"] > 0).all()
    found = changes(events)
    begun = [row for row in found if row[0] == MS + 120_000]
    assert begun == [
        (1_120_000, "rack1>rack3", "up1@rack1"),
        (1_120_000, "rack2>rack4", "up2@rack2"),
        (1_120_000, "rack3>rack1", "up3@rack3"),
        (1_120_000, "rack4>rack2", "up4@rack4"),
    ]
    assert {instant % MS for instant, _, _ in found} <= {100_000, 120_000}
    assert all(link.startswith("packet") for instant, _, link in found if instant % MS == 100_000)
    assert seen.tables["flows"]["finished"].all()
    # with 1 Gb/s only, the two flows of h1 would take 24 ms
    assert seen.tables["flows"]["fct_s"].max() < 10e-3
    assert run_guest(made()).digest == seen.digest


@pytest.mark.guest
def test_without_a_packet_network_packets_wait_for_their_circuit(run_guest: RunGuest) -> None:
    flows = [flow("a", "h1", "h3", connect="start"), flow("b", "h2", "h4", connect="start")]
    seen = run_guest(made(*flows, packet_rate=None, limit=1000 * MS)).tables
    assert seen["flows"]["finished"].all()
    # nothing passes before the first circuit
    assert seen["flows"]["fct_s"].min() > 1.12e-3


@pytest.mark.guest
def test_a_circuit_carries_nothing_while_it_is_dark(run_guest: RunGuest) -> None:
    """Two receivers take turns: without a packet network, no frame is lost when circuits change, and none circles."""
    flows = [flow("a", "h1", "h3", 5_000_000), flow("b", "h1", "h4", 5_000_000)]
    seen = run_guest(made(*flows, packet_rate=None, limit=1000 * MS)).tables
    assert seen["flows"]["finished"].all()
    assert not seen["events"]["event"].isin(["drop_dark", "drop_wire", "drop_port"]).any()
    assert len(changes(seen["events"])) > 8


@pytest.mark.guest
def test_permutations_follow_each_other_within_a_period(run_guest: RunGuest) -> None:
    flows = [flow(f"f{a}-{b}", f"h{a}", f"h{b}") for a in (1, 2, 3) for b in (1, 2, 3) if a != b]
    seen = run_guest(made(*flows, decide="birkhoff", measure="sent", limit=1000 * MS)).tables
    assert seen["flows"]["finished"].all()
    decisions = seen["events"][seen["events"]["event"] == "decision"]
    assert decisions.groupby("t_ns").size().max() > 3  # more circuits than one permutation of three racks has
    assert not seen["events"]["event"].isin(["drop_dark", "drop_wire"]).any()


OWN = """
def decide(demand, circuits):
    return {}
"""


@pytest.mark.guest
def test_a_controller_of_ones_own_decides(run_guest: RunGuest, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN.format('[("rack1", "rack4")]'))
    seen = run_guest(made(directory=tmp_path, controller="own.py"))
    found = {(queue, link) for _, queue, link in changes(seen.tables["events"])}
    assert found == {("rack1>rack4", "up1@rack1"), ("rack4>rack1", "up4@rack4")}


@pytest.mark.guest
@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("1 / 0", r"the controller own\.py raised ZeroDivisionError: division by zero \(own\.py, line 3\)"),
        ('[("rack1", "rack9")]', "two different racks of rack1, rack2, rack3, rack4"),
        ('[("rack1", "rack2"), ("rack1", "rack3")]', "chose 2 circuits for rack1; allowed: 1"),
    ],
)
def test_a_wrong_controller_ends_the_run_in_words(
    run_guest: RunGuest, tmp_path: Path, returned: str, message: str
) -> None:
    (tmp_path / "own.py").write_text(OWN.format(returned))
    with pytest.raises(RunError, match=message):
        run_guest(made(directory=tmp_path, controller="own.py"))
