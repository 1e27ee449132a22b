# SPDX-License-Identifier: Apache-2.0
"""Controllers of one's own with plans: the published ones of the document, and when the parts of a plan are up."""

from __future__ import annotations

import importlib
import itertools
import random
import re
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rdcnlab.app.examples import examples
from rdcnlab.engines.kernel import build
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario
from rdcnlab.system import places
from tests.engines.conftest import RunGuest

MS = 1_000_000
RATE = 10**10
DOCUMENT = places.tree() / "docs/circuit-scheduling.md"
FILES = {
    one.path.name: one.text for one in examples() if one.path.parent.name == DOCUMENT.stem and one.path.suffix == ".py"
}
PLANNERS = ["permutations.py", "solstice.py", "eclipse.py"]
PUBLISHED = ["max-weight.py", *PLANNERS]


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the guest, which is in no package."""
    monkeypatch.syspath_prepend(str(build.HERE / "inside"))
    return importlib.import_module("planning")


def served(planning: ModuleType, name: str, times: dict[tuple[str, str], int], every: int, night: int) -> int:
    """Return the ns of circuits that a plan uses of those that pairs need, each part after its night."""
    racks = dict.fromkeys(sorted({rack for pair in times for rack in pair}), 1)
    demand = {pair: ns * RATE // (8 * 10**9) for pair, ns in times.items()}
    state = planning.State(0, demand, demand, demand, [], racks, [], RATE, every, night)
    left, used, time = dict(times), 0, every
    for choice in planning.controller(name, FILES[name], True)(state):
        time -= night
        lasting = time if choice.lasting is None else choice.lasting
        assert 0 < lasting <= time
        time -= lasting
        for ends in zip(*choice.pairs, strict=True):
            assert len(set(ends)) == len(ends), "a rack has one uplink"
        for pair in choice.pairs:
            used += min(left.get(pair, 0), lasting)
            left[pair] = max(left.get(pair, 0) - lasting, 0)
    return used


def turns(racks: int, *steps: int, ns: int) -> dict[tuple[str, str], int]:
    """Return permutations of racks, each of as many ns."""
    return {(f"r{a}", f"r{(a + step) % racks}"): ns for a in range(racks) for step in steps}


@pytest.mark.parametrize("name", PLANNERS)
def test_what_fits_as_permutations_is_served_to_the_end(planning: ModuleType, name: str) -> None:
    """Three permutations of 256 us and three nights of 20 us take 828 us of 1 ms; 8 racks have 3 x 8 x 256 us."""
    assert served(planning, name, turns(8, 1, 3, 5, ns=256_000), MS, 20_000) == 3 * 8 * 256_000


@pytest.mark.parametrize("name", PUBLISHED)
def test_one_permutation_that_needs_longer_gets_all_but_one_night(planning: ModuleType, name: str) -> None:
    assert served(planning, name, turns(6, 2, ns=2 * MS), MS, 20_000) == 6 * (MS - 20_000)


@pytest.mark.parametrize("name", PUBLISHED)
def test_without_demand_nothing_is_planned(planning: ModuleType, name: str) -> None:
    assert served(planning, name, turns(4, 1, ns=0), MS, 20_000) == 0


@pytest.mark.parametrize("seed", range(10))
def test_the_heaviest_permutation_is_that_of_a_search(planning: ModuleType, seed: int) -> None:
    drawn = random.Random(seed)
    racks = [f"r{number}" for number in range(5)]
    times = {pair: drawn.randrange(1, MS // 2) for pair in itertools.permutations(racks, 2)}
    best = max(
        sum(times.get(pair, 0) for pair in zip(racks, order, strict=True)) for order in itertools.permutations(racks)
    )
    assert best - 25 <= served(planning, "max-weight.py", times, MS, 20_000) <= best  # whole bytes


def drawn_demand(seed: int, racks: int = 16, ns: int = MS) -> dict[tuple[str, str], int]:
    """Return the demand by which Solstice and Eclipse were evaluated: 4 large permutations with 70 %, 12 small ones."""
    random_ = random.Random(seed)
    times: Counter[tuple[str, str]] = Counter()
    for share, count in ((0.7, 4), (0.3, 12)):
        for _ in range(count):
            order = list(range(racks))
            while any(a == b for a, b in enumerate(order)):
                random_.shuffle(order)
            for a, b in enumerate(order):
                times[f"r{a}", f"r{b}"] += int(ns * share / count * random_.uniform(0.95, 1.05))
    return dict(times)


def test_the_document_says_what_each_serves_of_skewed_demand(planning: ModuleType) -> None:
    """Of a full load, by the night; Eclipse is never behind what takes the demand apart without regard to nights."""
    demands = [drawn_demand(seed) for seed in range(3)]
    rows = dict(re.findall(r"^\| `([a-z-]+\.py)` \|(.*)\|$", DOCUMENT.read_text(), re.MULTILINE))
    shares = {}
    for name in PUBLISHED:
        for night in (20_000, 100_000):
            used = [served(planning, name, each, MS, night) / sum(each.values()) for each in demands]
            shares[name, night] = sum(used) / len(used)
        said = [cell.strip() for cell in rows[name].split("|")]
        assert said == [f"{100 * shares[name, night]:.0f} %" for night in (20_000, 100_000)]
    for night in (20_000, 100_000):
        assert shares["eclipse.py", night] == max(shares[name, night] for name in PUBLISHED)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("[(100, []), (None, [])]", "planned circuits for 100 ns; allowed: at least the night, 20000 ns"),
        ("[(None, []), (30_000, [])]", "that last before others; allowed: as the last part"),
        ("[(500_000, []), (500_000, [])]", "planned 1040000 ns; allowed: at most 1000000 ns"),
        ("[(50_000, [('r0', 'r1'), ('r0', 'r2')])]", "2 circuits for r0; allowed: 1"),
        ("[(50_000, [('r0', 'r9')])]", "r0, r9; allowed: two different racks of r0, r1, r2"),
        ("state.nothing", "AttributeError.*line 2"),
    ],
)
def test_a_wrong_plan_is_refused_in_words(planning: ModuleType, returned: str, message: str) -> None:
    decide = planning.controller("own.py", f"def decide(state):\n    return {returned}\n", True)
    racks = dict.fromkeys(("r0", "r1", "r2"), 1)
    with pytest.raises(planning.Wrong, match=message):
        decide(planning.State(0, {}, {}, {}, [], racks, [], RATE, MS, 20_000))


def test_parameters_with_a_default_are_the_users_own(planning: ModuleType) -> None:
    decide = planning.controller(
        "own.py", "def decide(state, least=5):\n    return [] if state.now < least else 1\n", True
    )
    assert [*decide(planning.State(0, {}, {}, {}, [], {}, [], RATE, MS, 20_000))] == [(None, [], None)]


def made(directory: Path, controller: str | None, **network: Any) -> Scenario:
    flows = [
        {"name": f"f{a}-{b}", "src": f"h{a}", "dst": f"h{b}", "size": 300_000, "cc": "cubic", "connect": "start"}
        for a, b in ((1, 2), (1, 3), (2, 3), (3, 1))
    ]
    optical = {"fabric": "helios", "racks": 3, "packet_rate": None, "controller": controller, **network}
    optical = {name: value for name, value in optical.items() if value is not None or name == "packet_rate"}
    return Scenario.from_dict({"network": optical, "flows": flows, "limit": 20 * MS}, directory=directory)


PLAN = """
def decide(state):
    assert state.flows[0] == ("f1-2", "rack1", "rack2", 300000, 0), state.flows
    assert state.now % 1000000 == 0 and state.racks == {"rack1": 1, "rack2": 1, "rack3": 1}
    assert state.demand == state.waiting and state.bytes(state.time(1250)) == 1250
    return [(100000, [("rack1", "rack2"), ("rack2", "rack3")]), (None, [("rack1", "rack3")])]
"""


@pytest.mark.guest
def test_each_part_of_a_plan_is_up_at_its_nanosecond(run_guest: RunGuest, tmp_path: Path) -> None:
    """Reading at 1 ms, 100 us of reaction, a night of 20 us: up at 1.12 ms for 100 us; the next one at 1.24 ms."""
    (tmp_path / "own.py").write_text(PLAN)
    events = run_guest(made(tmp_path, "own.py", one_way=True)).tables["events"]
    turns = events[(events["event"] == "slot") & events["flow"].isin(["rack1>rack2", "rack1>rack3"])]
    turns = turns[turns["t_ns"].between(MS, 2 * MS)]
    assert [*zip(turns["t_ns"], turns["flow"], turns["link"], strict=True)] == [
        (1_120_000, "rack1>rack2", "up1@rack1"),
        (1_220_000, "rack1>rack2", "dark"),
        (1_240_000, "rack1>rack3", "up1@rack1"),
    ]


@pytest.mark.guest
def test_permutations_of_a_file_are_those_of_the_field(run_guest: RunGuest, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(FILES["permutations.py"])
    own = run_guest(made(tmp_path, "own.py", one_way=True))
    assert own.digest == run_guest(made(tmp_path, None, decide="birkhoff")).digest
    assert own.tables["flows"]["finished"].all()


@pytest.mark.guest
@pytest.mark.parametrize("name", ["max-weight.py", "solstice.py", "eclipse.py"])
def test_published_controllers_end_all_flows(run_guest: RunGuest, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name])
    seen = run_guest(made(tmp_path, name, one_way=True)).tables
    assert seen["flows"]["finished"].all()
    assert not seen["events"]["event"].isin(["drop_dark", "drop_wire"]).any()


@pytest.mark.guest
def test_a_plan_that_is_too_long_ends_the_run_in_words(run_guest: RunGuest, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def decide(state):\n    return [(state.every, [])]\n")
    with pytest.raises(RunError, match=r"the controller own\.py planned 1020000 ns; allowed: at most 1000000 ns"):
        run_guest(made(tmp_path, "own.py"))
