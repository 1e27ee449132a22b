# SPDX-License-Identifier: Apache-2.0
"""Each queueing discipline of Linux on lines of each rate, with and without offloads: frames arrive, each of them."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from rdcnlab.scenario import Scenario
from rdcnlab.scenario.aqm import Aqm
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.guest

KINDS: tuple[str, ...] = get_args(Aqm.model_fields["kind"].annotation)
#: Options that ``tc`` asks for.
NEEDED: dict[str, dict[str, Any]] = {
    "choke": {"limit": 1000, "bandwidth": "1mbit", "min": 300, "max": 900},
    "ets": {"bands": 3},
    "red": {"limit": 400_000, "min": 100_000, "max": 300_000, "avpkt": 1000},
}
#: Rate of the lines, and bytes of each flow: 0.4 s, 16 ms and 0.32 ms of the line, for a few seconds in all.
RATES = {"1 Mb/s": 50_000, "1 Gb/s": 2_000_000, "100 Gb/s": 4_000_000}
BITS = {"1 Mb/s": 10**6, "1 Gb/s": 10**9, "100 Gb/s": 10**11}
#: Datagrams, each of which leaves its line before the next one comes: no discipline has a reason to drop one.
DATAGRAMS, PAYLOAD = 5, 1472


def lines(rate: str, offload: dict[str, Any]) -> Scenario:
    """Return a network with a line for each discipline; five datagrams, and then a TCP flow, take it alone."""
    hosts = [{"name": f"{end}{n}", "at": at, "rate": max(rate, "1 Gb/s", key=lambda r: BITS[r]), "delay": "2 us"}
             for n in range(len(KINDS)) for end, at in (("s", "left"), ("r", "right"))]  # fmt: skip
    links = [{"name": f"l{n}", "between": ["left", "right"], "rate": rate, "delay": "10 us",
              "aqm": {"kind": kind, **NEEDED.get(kind, {})}} for n, kind in enumerate(KINDS)]  # fmt: skip
    ends = [{"src": f"s{n}", "dst": f"r{n}", "path": f"l{n}", "back": "same"} for n in range(len(KINDS))]
    udp = {"protocol": "udp", "size": f"{PAYLOAD * DATAGRAMS} B", "packet": "1500 B", "burst": 1, "interval": "20 ms"}
    tcp = {"size": f"{RATES[rate]} B", "cc": "cubic", "start": "200 ms"}
    return Scenario.from_dict(
        {
            "network": {"name": "disciplines", "switches": [{"name": "left"}, {"name": "right"}], "hosts": hosts,
                        "links": links},
            "flows": [{"name": f"{kind}{n}", **end, **flow}
                      for n, end in enumerate(ends) for kind, flow in (("u", udp), ("t", tcp))],
            "limit": "30 s",
            "probes": {},
            **({"offload": offload} if offload else {}),
        }
    )  # fmt: skip


@pytest.mark.parametrize("offload", [{}, {"tso": 65_535, "gro": True}], ids=["plain", "offloads"])
@pytest.mark.parametrize("rate", RATES)
def test_what_is_sent_through_any_discipline_arrives(run_guest: RunGuest, rate: str, offload: dict[str, Any]) -> None:
    flows = run_guest(lines(rate, offload)).tables["flows"].set_index("flow")
    for number, kind in enumerate(KINDS):
        datagrams, stream = flows.loc[f"u{number}"], flows.loc[f"t{number}"]
        assert datagrams["received_B"] == DATAGRAMS * PAYLOAD, f"datagrams through {kind}"
        assert (bool(stream["finished"]), stream["received_B"]) == (True, RATES[rate]), f"a stream through {kind}"
        # no frame leaves earlier than its bits allow, and the line is not idle for long
        least = RATES[rate] / 1448 * 1538 * 8 / BITS[rate]
        assert least <= stream["fct_s"] < 10 * least + 0.5, f"the time of a stream through {kind}"
