# SPDX-License-Identifier: Apache-2.0
"""Mutations of scenarios: whatever a file says, the answer is a scenario or an `InputError`.

``python -m tests.scenario.mutate 200000`` makes so many mutations and prints the tracebacks; a test makes a few.
"""

from __future__ import annotations

import copy
import random
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import yaml

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario

#: A preset with timetables; a network of several switches, written out; a fabric with notifications and settings; a
#: host with several lines.
FILES = (
    """
network: aykurt
flows:
  - {name: main, size: 2 GiB, cc: cubic, path: green, start: 1 ms}
  - {name: migrated, size: 2 GiB, cc: dctcp, path: [[50 ms, blue], [50 ms, green]], phase: 3 ms,
     transport: {like: null, sack: false}}
  - {name: noise, protocol: udp, src: s1, dst: r1, size: 89720 B, burst: 10, interval: 25 ms, path: blue}
switch: {kind: ocs, dark: hold}
transport: {like: 4.15, ecn: auto, rmem: [4 KiB, 128 KiB, 6 MiB]}
offload: {tso: 64000 B}
hosts: [{name: r1, transport: {reordering: 9}, offload: {gro: true, coalesce: 9 us, coalesce_frames: 4}}]
probes: {bin: 20 us, acks: true, fold: 4.2 ms, tcp: bin}
jitter: {start: 1 us}
limit: 300 ms
seed: 7
""",
    """
network:
  name: mine
  mtu: 9000 B
  switches:
    - {name: left, late: 1 us, guard: 0 s}
    - {name: right, kind: ocs}
    - {name: light, optical: true, guard: 1 us}
  hosts:
    - {name: "s[1-2]", at: left, rate: 10 Gb/s, delay: 5 us, nic_buffer: 10 kB, port: {pool: shared}}
    - {name: "r[1-2]", at: right, rate: 10 Gb/s, loss: 1 %, jitter: 2 us, port: {buffer: 100 packets}}
  pools: [{name: shared, size: 1 MB}]
  links:
    - {name: fast, between: [left, right], rate: 10 Gb/s, delay: 20 us, buffer: 500 kB, ecn_threshold: 65 kB}
    - {name: slow, between: [left, right], rate: [[1 s, 2 Mb/s], [1 s, 16 Mb/s]], aqm: {kind: fq_codel, ecn: true}}
    - {name: up, between: [left, light], rate: 1 Gb/s, buffer: 1 MB, red: {min: 1 kB, max: 3 kB, probability: 2 %}}
    - {name: down, between: [light, right], rate: 1 Gb/s, buffer: 1 MB, marking: {min: 1 B, max: 3 B, probability: 2 %}}
  schedules:
    - name: way
      queue: 50 packets
      ecn_threshold: 9 packets
      slots: [[180 us, fast], {duration: 20 us, link: slow, tdn: 1}]
flows:
  - {name: a, src: s1, dst: r1, size: 16 MB, path: [[10 ms, fast], [10 ms, slow]], back: same}
  - {name: b, src: s2, dst: r2, size: 16 MB, path: fast+right, protocol: quic, initiator: src}
  - {name: c, src: s1, dst: r2, size: 16 MB, path: way, protocol: tcp, cc: bbr, connect: ahead}
""",
    """
network: {fabric: rotor, racks: 4, hosts: 2, uplinks: 1, packet_rate: 10 Gb/s, ecn_threshold: 5 packets}
flows:
  - {name: "f[1-2]", src: "h[1-2]", dst: "h[3-4]", size: 10 MB, cc: dctcp, tdtcp: true}
  - {name: g, src: h3, dst: h7, size: 10 MB, cc: reno, tdtcp: true}
notify: {model: push, delay: 1 us, each: 10 ns, hosts: [{name: h1, delay: 2 us}]}
transport: {tdtcp: true, reordering: 30, cubic_beta: 819}
mptcp: {scheduler: default}
engine: {kind: kernel, hz: 250}
limit: 1 s
""",
    """
network:
  name: access
  switches: [{name: wifi}, {name: lte}, {name: core}]
  hosts:
    - {name: phone, at: wifi, rate: 50 Mb/s, delay: 5 ms}
    - {name: phone_lte, of: phone, at: lte, rate: 20 Mb/s, loss: 1 %}
    - {name: server, at: core, rate: 1 Gb/s}
  links:
    - {name: dsl, between: [wifi, core], rate: 1 Gb/s, buffer: 1 MB, down: [[2 s, 3 s]]}
    - {name: cell, between: [lte, core], rate: 1 Gb/s, buffer: 1 MB}
flows: [{name: get, src: server, dst: phone, protocol: mptcp, size: 20 MB}]
hosts:
  - name: phone
    mptcp: {subflows: 2, accepted: 0, endpoints: [{line: phone_lte, subflow: true, backup: true}]}
probes: {capture: [phone_lte], ports: true}
""",
)
_LEAVES = (
    None,
    True,
    False,
    0,
    -1,
    1,
    10**40,
    -(10**400),
    0.5,
    float("inf"),
    float("nan"),
    "",
    " ",
    "\x00",
    "dark",
    "bypass",
    "same",
    "ecmp",
    "h[1-9999]",
    "h[9-1]",
    "50 ms",
    "10 Gb/s",
    "2 GiB",
    "9" * 400 + " s",
    "x" * 3000,
    "fast+slow",
    "+",
    b"bytes",
    "s1",
    "left",
    "cubic",
    "aykurt",
    "rotor",
    "10 packets",
    "unlimited",
    "1 %",
)


def mutations(count: int, seed: int) -> Iterator[Any]:
    """Yield changed scenarios as plain data, the same for the same seed."""
    draw = random.Random(seed)
    originals = [yaml.safe_load(text) for text in FILES]
    for _ in range(count):
        data: Any = copy.deepcopy(draw.choice(originals))
        for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
            data = _changed(draw, data, originals)
        yield data


def _changed(draw: random.Random, data: Any, originals: list[Any]) -> Any:
    places = list(_places(data))
    holder, key = draw.choice(places) if places else (None, None)
    if holder is None or draw.random() < 0.002:
        return _garbage(draw, 0)
    what = draw.randrange(6)
    if what == 0:
        del holder[key]
    elif what == 1:
        holder[key] = _garbage(draw, 0)
    elif what == 2:
        other, place = draw.choice(list(_places(draw.choice(originals))))
        holder[key] = copy.deepcopy(other[place])
    elif what == 3:
        value = holder[key]
        holder[key] = draw.choice(([value], {"name": value}, str(value), [value, value]))
    elif what == 4 and isinstance(holder, dict):
        holder[draw.choice((*_names(data), "fabric", "name", "trace", "programme", 3, None))] = holder[key]
    elif isinstance(holder, list):
        holder.insert(draw.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
    else:
        holder[key] = draw.choice(_LEAVES)
    return data


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place of nested data as its container and its key."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


def _names(data: Any) -> list[Any]:
    return [key for holder, key in _places(data) if isinstance(holder, dict)]


def _garbage(draw: random.Random, depth: int) -> Any:
    kind = draw.randrange(4 if depth < 4 else 2)
    if kind < 2:
        return copy.copy(draw.choice(_LEAVES))
    parts = [_garbage(draw, depth + 1) for _ in range(draw.randrange(4))]
    names = ("name", "fabric", "bytes", "kind", "link", "size", "x")
    return parts if kind == 2 else {draw.choice(names): part for part in parts}


def fault(data: Any, text: bool) -> str | None:
    """Return the traceback that a scenario ends with; None if it is read, or refused with a sentence."""
    try:
        Scenario.from_dict(data, text=text)
    except InputError as error:
        return None if str(error) and all(problem.field for problem in error.problems) else f"no words: {error!r}"
    except Exception:  # noqa: BLE001 - any other exception is what is looked for
        return traceback.format_exc()
    return None


if __name__ == "__main__":
    asked, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    faults: dict[str, str] = {}
    read = 0
    for number, mutation in enumerate(mutations(asked, seed)):
        kept = copy.deepcopy(mutation)
        said = fault(mutation, bool(number % 2))
        if said is not None and said.splitlines()[-1][:60] not in faults:
            faults[said.splitlines()[-1][:60]] = f"{said}\n{kept!r}"
            print(f"{number}: {faults[said.splitlines()[-1][:60]][-3000:]}", flush=True)
        if number % 10_000 == 9_999:
            print(f"{number + 1} mutations, {len(faults)} kinds of traceback", flush=True)
