# SPDX-License-Identifier: Apache-2.0
"""Scenarios for the tests of pictures: one for each form that a picture can have."""

from __future__ import annotations

from typing import Any

from rdcnlab.analysis.show.ways import Shown
from rdcnlab.scenario import Scenario

TEN = "10 Gb/s"


def flow(name: str, src: str, dst: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "src": src, "dst": dst, "size": "1 GiB", **fields}


LATE = {
    "network": {
        "name": "late",
        "switches": [{"name": "left"}, {"name": "right", "late": "100 ms", "jitter": "150 ms"}],
        "hosts": [
            {"name": "s[1-2]", "at": "left", "rate": TEN, "delay": "1 us"},
            {"name": "r[1-2]", "at": "right", "rate": TEN, "delay": "1 us"},
        ],
        "links": [
            {"name": "l_n", "between": ["left", "right"], "rate": TEN, "delay": "1 us", "buffer": "200 kB",
             "red": {"min": "60 kB", "max": "180 kB", "probability": "10 %"}},
            {"name": "l_m", "between": ["left", "right"], "rate": "40 Gb/s", "delay": "2 us", "buffer": "1 MB"},
        ],
    },
    "flows": [
        flow("fn", "s1", "r1", path=[["1 s", "l_n"], ["1 s", "l_m"]], back="same"),
        flow("fm", "s2", "r2", path=[["1 s", "l_m"], ["1 s", "l_n"]], back="same"),
    ],
}  # fmt: skip

CHAIN = {
    "network": {
        "name": "chain",
        "pools": [{"name": "shared", "size": "4 MB"}],
        "switches": [{"name": "west"}, {"name": "middle", "jitter": "20 us"}, {"name": "east", "late": "40 us"}],
        "hosts": [
            {"name": "w[1-12]", "at": "west", "rate": TEN, "delay": "1 us"},
            {"name": "m[1-3]", "at": "middle", "rate": "25 Gb/s", "delay": "2 us"},
            {"name": "e[1-12]", "at": "east", "rate": TEN, "delay": "1 us"},
        ],
        "links": [
            {"name": "up[1-2]", "between": ["west", "middle"], "rate": "40 Gb/s", "delay": "5 us", "pool": "shared"},
            {"name": "down[1-3]", "between": ["middle", "east"], "rate": "100 Gb/s", "buffer": "1 MB"},
        ],
    },
    "flows": [
        flow("f[1-12]", "w[1-12]", "e[1-12]",
             path=[["1 ms", "up1+down1"], ["500 us", "dark"], ["1 ms", "up2+down3"]]),
        flow("slow", "m1", "e1", path=[["300 ms", "down1"], ["200 ms", "down2"]]),
        flow("still", "m2", "w2", path="up2"),
    ],
    "limit": "100 ms",
}  # fmt: skip

RING = {
    "network": {
        "name": "ring",
        "switches": [{"name": "n[1-6]"}],
        "hosts": [
            {"name": "h[1-6]", "at": "n[1-6]", "rate": TEN, "delay": "1 us"},
            {"name": "g[1-3]", "at": "n1", "rate": "1 Gb/s", "delay": "5 us"},
        ],
        "links": [
            {"name": f"c{n}", "between": [f"n{n}", f"n{n % 6 + 1}"], "rate": TEN, "buffer": "200 kB"}
            for n in range(1, 7)
        ],
    },
    "flows": [flow("a", "h1", "h4", path=[["3 ms", "c1"], ["1 ms", "dark"], ["3 ms", "c6"]])],
}

GROWING = {
    "network": {
        "name": "growing",
        "mtu": "9000 B",
        "hosts": [{"name": "a[1-3]", "rate": "100 Gb/s"}, {"name": "b[1-3]", "rate": "100 Gb/s"}],
        "links": [
            {"name": "packet", "rate": TEN, "delay": "46 us"},
            {"name": "circuit", "rate": "100 Gb/s", "delay": "19 us"},
        ],
        "schedules": [
            {
                "name": "forward",
                "queue": "16 packets",
                "slots": [
                    ["1030 us", "packet"],
                    {"duration": "150 us", "link": "packet", "queue": "50 packets"},
                    ["20 us", "dark"],
                    {"duration": "180 us", "link": "circuit", "tdn": 1},
                    {"duration": "20 us", "link": "packet", "queue": "16 packets"},
                ],
            },
            {"name": "reverse", "queue": "16 packets", "phase": "600 us",
             "slots": [["1 ms", "packet"], ["400 us", "dark"]]},
        ],
    },
    "flows": [flow("flow-[1-3]", "a[1-3]", "b[1-3]", path="forward", back="reverse")],
    "jitter": {"phase": "1 ms"},
}  # fmt: skip

AYKURT = {
    "network": "aykurt",
    "flows": [
        {"name": "main", "size": "2 GiB", "path": "green"},
        {"name": "migrated", "size": "2 GiB",
         "path": [["50 ms", "blue"], ["1 ms", "dark"], ["50 ms", "green"], ["1 ms", "dark"]]},
    ],
}  # fmt: skip
QUIC = {
    "network": "aykurt-quic",
    "flows": [
        {"name": "main", "size": "64 MiB", "protocol": "quic", "path": "green"},
        {"name": "migrated", "size": "64 MiB", "path": [["50 ms", "blue"], ["50 ms", "green"]], "phase": "20 ms"},
        {"name": "migrated-2", "size": "64 MiB", "path": [["1 ms", "blue"], ["1 ms", "green"], ["100 us", "bypass"]]},
    ],
}
TDTCP = {"network": "tdtcp", "flows": [{"name": "flow-[1-16]", "size": "100 GiB", "cc": "dctcp"}]}
DUMBBELL = {"network": {"fabric": "dumbbell"}, "flows": [flow("f[1-2]", "s[1-2]", "r[1-2]")]}
LEAF_SPINE = {
    "network": {"fabric": "leaf-spine", "leaves": 4, "spines": 2, "hosts": 2},
    "flows": [
        flow("a", "h1", "h5"),
        flow("b", "h2", "h7", path=[["10 ms", "spine1"], ["10 ms", "spine2"]], back="same"),
        flow("c", "h3", "h8", path="spine1"),
    ],
}
LARGE = {
    "network": {"fabric": "leaf-spine", "leaves": 32, "spines": 8, "hosts": 5, "ecn_threshold": 65_000},
    "flows": [flow("f[1-40]", "h[1-40]", "h[101-140]")],
}
ROTOR = {"network": {"fabric": "rotor", "racks": 8, "hosts": 8}, "flows": [flow("f[1-2]", "h[1-2]", "h[63-64]")]}
ROTORS = {
    "network": {"fabric": "rotor", "racks": 4, "hosts": 1, "uplinks": 2, "rate": "100 Gb/s"},
    "flows": [flow("f[1-2]", "h[1-2]", "h[3-4]")],
}

ALL = {
    "aykurt": AYKURT, "quic": QUIC, "tdtcp": TDTCP, "growing": GROWING, "late": LATE, "chain": CHAIN, "ring": RING,
    "dumbbell": DUMBBELL, "leaf-spine": LEAF_SPINE, "large": LARGE, "rotor": ROTOR, "rotors": ROTORS,
}  # fmt: skip
PRESETS = (
    "aykurt", "aykurt-quic", "carpa", "tdtcp", "two-switches", "two-tier-clos", "vargas", "dumbbell", "leaf-spine",
    "rotor", "shared-queue", "wide-area",
)  # fmt: skip


def shown(name: str) -> Shown:
    """One of `ALL`."""
    return Shown.of(Scenario.from_dict(ALL[name]))
