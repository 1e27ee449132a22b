# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch under a controller: when the data plane follows, controllers of users, and every fault.

`tests.engines.kernel.switches.test_kinds` compares its tables with those of other kinds in networks of
several switches.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rdcnlab.engines.kernel.switches.ovs import install
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.kernel.switches.test_kinds import assert_equal, flow, two

pytestmark = [
    pytest.mark.guest,
    pytest.mark.ovs,
    pytest.mark.skipif(bool(install.missing()) or not install.has_controller(), reason=f"{install.REMEDY}; make sdn"),
]

DOCUMENT = Path(__file__).parents[5] / "docs" / "controller.md"
#: Two flows that swap their links every 2 ms.
SWAPPING = two(
    flow("fn", "s1", "r1", size="2 MB", path=[["2 ms", "l_n"], ["2 ms", "l_m"]]),
    flow("fm", "s2", "r2", size="2 MB", path=[["2 ms", "l_m"], ["2 ms", "l_n"]]),
    rate="1 Gb/s",
)
#: A flow that takes much longer than any fault of these tests needs.
LONG = flow("f", "s1", "r1", size="1 GB", path="l_n", back="l_n")


def ovs(scenario: Scenario, **settings: object) -> Scenario:
    return scenario.with_(**{"switch.kind": "ovs", **{f"switch.{name}": value for name, value in settings.items()}})


def changes(events: pd.DataFrame) -> pd.DataFrame:
    """Return the instants of each change in ns: columns ``decision``, ``barrier`` and ``slot``."""
    found = events[events["event"].isin(["decision", "barrier", "slot"])].copy()
    found["count"] = found.groupby(["event", "link", "flow"], dropna=False).cumcount()
    found["flow"] = found["flow"].fillna("back")
    return found.pivot_table(index=["link", "flow", "count"], columns="event", values="t_ns").dropna()


@pytest.mark.parametrize("main", [{"path": "green"}, {"path": "week", "back": "blue"}], ids=["flows", "schedule"])
def test_one_switch_gives_the_tables_of_ocs(run_guest: RunGuest, main: dict[str, str]) -> None:
    """The network of aykurt names no switch; two flows share its links, and move every 10 ms or follow a schedule."""
    flows = [
        {"name": "main", "size": "32 MiB", **main},
        {"name": "migrated", "size": "32 MiB", "path": [["10 ms", "blue"], ["10 ms", "green"]]},
    ]
    week = {"name": "week", "dark": "drop", "slots": [["10 ms", "green"], ["10 ms", "blue"]]}
    base = Scenario.from_dict({"network": "aykurt", "flows": flows[1:], "limit": "1 s", "seed": 3})
    scenario = base.with_(**{"network.schedules": [week]}).with_(flows=flows)
    assert_equal(run_guest(ovs(scenario)).tables, run_guest(scenario).tables)


def test_a_delay_is_a_late_switch_and_repeats(run_guest: RunGuest) -> None:
    """What follows 300 us after each decision is what ``ocs`` does with ``late: 300 us``, and again in each run."""
    late = SWAPPING.with_(**{f"network.switches.{name}.late": "300 us" for name in ("left", "right")})
    seen = run_guest(ovs(SWAPPING, delay="300 us"))
    assert_equal(seen.tables, run_guest(late).tables)
    apart = changes(seen.tables["events"])
    assert len(apart) > 10
    assert set(apart["slot"] - apart["decision"]) == {300_000}
    assert set(apart["slot"] - apart["barrier"]) <= {10, 300_000}  # the first slot is in the table from the start
    assert run_guest(ovs(SWAPPING, delay="300 us")).digest == seen.digest


@pytest.mark.slow
def test_many_flows_that_move_at_one_instant_are_followed_at_once(run_guest: RunGuest) -> None:
    """Of 180 flows, each switch moves 180 entries every 10 ms; messages of such a change have twelve parts."""
    paths = [["10 ms", "l_n"], ["10 ms", "l_m"]]
    flows = [flow(f"f{number}", "s1", "r1", size="1 GB", path=paths) for number in range(180)]
    many = {"limit": "25 ms", "probes.packets": False}
    scenario = two(*flows, rate="1 Gb/s").with_(**many)
    seen = run_guest(ovs(scenario)).tables
    slots = seen["events"].query("event == 'slot'")
    assert dict(slots.groupby("t_ns").size()) == {0: 360, 10_000_000: 360, 20_000_000: 360}
    expected = run_guest(scenario).tables
    for name in ("flows", "throughput", "queues", "tcp"):
        pd.testing.assert_frame_equal(seen[name], expected[name])


def test_a_drawn_delay_is_between_its_bounds(run_guest: RunGuest) -> None:
    apart = changes(run_guest(ovs(SWAPPING, delay="100 us", jitter="50 us")).tables["events"])
    took = apart["slot"] - apart["decision"]
    assert took.between(100_000, 150_000).all()
    assert took.nunique() > 5


def blocks() -> dict[str, str]:
    """Return the files that the document shows, by the names in their first lines."""
    found = re.findall(r"```(?:yaml|python)\n(# (\S+): .*?)```", DOCUMENT.read_text(), re.DOTALL)
    return {name: text for text, name in found}


def test_the_first_example_of_the_document(run_guest: RunGuest, tmp_path: Path) -> None:
    (tmp_path / "moves.yaml").write_text(blocks()["moves.yaml"])
    seen = run_guest(Scenario.load(tmp_path / "moves.yaml"))
    assert seen.tables["flows"]["finished"].all()
    took = changes(seen.tables["events"]).query("slot > 0").eval("slot - decision")
    assert took.between(2_000_000, 3_000_000).all()


def test_a_controller_that_looks_at_counters_moves_a_flow(run_guest: RunGuest, tmp_path: Path) -> None:
    """Two flows share a link of 1 Gb/s for 10 ms. Then one of them moves, and both finish in little more than 90 ms."""
    for name, text in blocks().items():
        (tmp_path / name).write_text(text)
    scenario = Scenario.load(tmp_path / "balance.yaml")
    seen = run_guest(scenario)
    events = seen.tables["events"]
    moved = events[events["event"].isin(["decision", "slot"])]
    assert list(moved["flow"]) == ["fm", "fm"]
    assert list(moved["link"]) == ["l_m@left", "l_m@left"]
    assert moved["t_ns"].between(10_000_000, 10_001_000).all()
    assert (seen.tables["flows"]["fct_s"] < 0.11).all()
    alone = scenario.with_(**{"switch.controller": None})
    assert (run_guest(alone).tables["flows"]["fct_s"] > 0.15).any()


def test_an_application_of_ryu_does_what_it_does_in_os_ken(run_guest: RunGuest, tmp_path: Path) -> None:
    for name, text in blocks().items():
        (tmp_path / name).write_text(text)
    scenario = Scenario.load(tmp_path / "triangle.yaml")
    seen = run_guest(scenario)
    text = (tmp_path / "discover.py").read_text().replace("os_ken", "ryu").replace("OSKenApp", "app_manager.RyuApp")
    text = text.replace("from ryu.base.app_manager import app_manager.RyuApp", "from ryu.base import app_manager")
    (tmp_path / "discover.py").write_text(text)
    assert "os_ken" not in text
    again = run_guest(Scenario.load(tmp_path / "triangle.yaml"))
    assert again.tables["flows"]["finished"].all()
    assert again.digest == seen.digest


#: The controller of the document in two files: what it counts is in the second one.
HALVES = """
def difference(total, ports, before):
    return {link: total[ports[link]] - then for link, then in before.items()}


def other_than(sent):
    return min(sent, key=sent.get)
"""


def split(text: str, imported: str) -> str:
    """Return the controller of the document, which imports parts of it."""
    text = text.replace("{link: total[ports[link]] - before for link, before in self.before.items()}", "DIFFERENCE")
    text = text.replace("DIFFERENCE", "difference(total, ports, self.before)")
    text = text.replace("min(sent, key=sent.get)", "other_than(sent)")
    return text.replace("from sdn import", f"{imported}\nfrom sdn import")


@pytest.mark.parametrize(
    ("first", "second", "imported"),
    [
        ("__init__.py", "halves.py", "from .halves import difference, other_than"),
        ("__init__.py", "parts/halves.py", "from mover.parts.halves import difference, other_than"),
        # a name that a module of ours for hosts has, too
        ("main.py", "topology.py", "from topology import difference, other_than"),
    ],
)
def test_a_controller_of_two_files_does_what_one_file_does(
    run_guest: RunGuest, tmp_path: Path, first: str, second: str, imported: str
) -> None:
    for name, text in blocks().items():
        (tmp_path / name).write_text(text)
    scenario = Scenario.load(tmp_path / "balance.yaml")
    mover = tmp_path / "mover"
    (mover / second).parent.mkdir(parents=True)
    (mover / first).write_text(split(blocks()["balance.py"], imported))
    (mover / second).write_text(HALVES)
    # what lies beside the files of the scenario is not found
    several = Scenario.from_dict({**scenario.to_dict(), "switch": {"kind": "ovs", "controller": str(mover)}})
    assert run_guest(several).digest == run_guest(scenario).digest


def test_errors_of_a_directory_name_the_file_and_the_line(run_guest: RunGuest, tmp_path: Path) -> None:
    mover = tmp_path / "mover"
    mover.mkdir()
    (mover / "__init__.py").write_text("from .app import Mine\n")
    (mover / "app.py").write_text(
        "from sdn import Controller\n\nfrom .lib import fails\n\n\nclass Mine(Controller):\n"
        "    def begun(self):\n        fails()\n"
    )
    (mover / "lib.py").write_text("def fails():\n    raise ValueError('no such thing')\n")
    with pytest.raises(RunError, match=r"the controller mover raised ValueError: no such thing \(lib\.py, line 2\)"):
        run_guest(ovs(two(LONG), controller=str(mover)), wall_limit_s=120)
    (mover / "app.py").rename(mover / "queue.py")
    (mover / "__init__.py").rename(mover / "main.py")
    with pytest.raises(RunError, match=r"mover has a module 'queue', as Python, os-ken or rdcnlab has"):
        run_guest(ovs(two(LONG), controller=str(mover)), wall_limit_s=120)


def test_a_module_that_os_ken_lacks_is_named(run_guest: RunGuest, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from ryu.services.protocols.bgp.bgpspeaker2 import BGPSpeaker\n")
    with pytest.raises(
        RunError, match=r"has no module os_ken\.services\.protocols\.bgp\.bgpspeaker2 for ryu\.services"
    ):
        run_guest(ovs(two(LONG), controller=str(tmp_path / "mine.py")), wall_limit_s=120)


def dies(pattern: str) -> list[tuple[str, str]]:
    """Return a command that kills a process of the guest 20 ms after the start."""
    kill = f"kill -9 $(pgrep -f '{pattern}' | head -n 1)"
    return [("s1", f"(sleep $(awk '{{print 60.02 - $1}}' /proc/uptime) && {kill}) >/dev/null 2>&1 &")]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("[s]dn_process", "controller"),
        ("^[^ ]*ovs-vswitch[d] ", "ovs-vswitchd"),
        ("^[^ ]*ovsdb-serve[r] ", "ovsdb-server"),
    ],
)
def test_a_process_that_dies_ends_the_run(run_guest: RunGuest, pattern: str, name: str) -> None:
    with pytest.raises(RunError, match=f"{name} was ended by SIGKILL"):
        run_guest(ovs(two(LONG)), before=dies(pattern), wall_limit_s=120)


def test_a_full_table_ends_the_run(run_guest: RunGuest) -> None:
    """Each switch has four addresses of hosts, and one of the two ways."""
    with pytest.raises(RunError, match=r"the table of (left|right) is full with 4 entries: no room for the way of f"):
        run_guest(ovs(two(LONG), table_size=4), wall_limit_s=120)


APPS = {
    "raises in a handler": (
        """
        class Mine(Controller):
            @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
            def confirmed(self, event):
                raise ValueError("no such thing")
        """,
        r"the controller mine\.py raised ValueError: no such thing \(mine\.py, line 10\)",
    ),
    "raises while flows run": (
        """
        class Mine(Controller):
            def begun(self):
                self.at(0.02, lambda: self.move("f", "left", "nowhere"))
        """,
        r"mine\.py raised ValueError: target: 'nowhere'; allowed: dark, l_m, l_n, s1, s2 \(mine\.py, line 9\)",
    ),
    "is no Python": ("this is no Python\n", r"the controller mine\.py raised SyntaxError: .* \(mine\.py, line 7\)"),
    "has no application": ("x = 1\n", r"mine\.py defines no application of os-ken \(a class of OSKenApp\)"),
    "sends what is refused": (
        """
        class Mine(Controller):
            def begun(self):
                self.at(0.02, self.wrong)

            def wrong(self):
                path = testbed.switches["left"].datapath
                parser, known = path.ofproto_parser, path.ofproto
                doing = [parser.OFPInstructionActions(known.OFPIT_APPLY_ACTIONS, [parser.OFPActionOutput(0xFFFFFF01)])]
                path.send_msg(parser.OFPFlowMod(path, instructions=doing))
        """,
        "left refuses OFPT_FLOW_MOD.*: OFPET_BAD_ACTION.*, OFPBAC_BAD_OUT_PORT",
    ),
    "derives from os-ken alone, and is refused": (
        """
        class Mine(OSKenApp):
            OFP_VERSIONS = [4]

            @set_ev_cls(ofp_event.EventOFPStateChange, MAIN_DISPATCHER)
            def connected(self, event):
                path = event.datapath
                path.send_msg(path.ofproto_parser.OFPFlowMod(path, table_id=255))
        """,
        "(left|right) refuses OFPT_FLOW_MOD",
    ),
}
HEAD = """\
from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from sdn import Controller, testbed


"""


@pytest.mark.parametrize("case", APPS)
def test_a_controller_that_goes_wrong_ends_the_run(run_guest: RunGuest, tmp_path: Path, case: str) -> None:
    import textwrap

    text, reason = APPS[case]
    (tmp_path / "mine.py").write_text(HEAD + textwrap.dedent(text).lstrip("\n"))
    scenario = ovs(two(LONG), controller=str(tmp_path / "mine.py"))
    begun = time.monotonic()
    with pytest.raises(RunError, match=reason):
        run_guest(scenario, wall_limit_s=120)
    assert time.monotonic() - begun < 60


def test_a_flow_of_any_protocol_passes(run_guest: RunGuest) -> None:
    bursts: dict[str, Any] = {"protocol": "udp", "burst": 8, "interval": "1 ms", "size": "117760 B", "cc": None}
    scenario = two(flow("f", "s1", "r1", path="l_n"), flow("u", "s2", "r2", path="l_n", **bursts))
    assert_equal(run_guest(ovs(scenario)).tables, run_guest(scenario).tables)
