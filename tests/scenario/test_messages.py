# SPDX-License-Identifier: Apache-2.0
"""The exact messages on mistakes of newcomers: field, value, and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.qdisc import Qdisc

NETWORK = """\
network:
  name: mine
  switches: [{name: left}, {name: right}]
  hosts:
    - {name: a, at: left, rate: 1 Gb/s}
    - {name: b, at: right, rate: 1 Gb/s}
  links:
    - {name: l, between: [left, right], rate: 1 Gb/s, delay: 1 ms, buffer: 100 kB}
    - {name: m, between: [left, right], rate: 1 Gb/s, delay: 1 ms, buffer: 100 kB}
flows:
  - {name: f, src: a, dst: b, size: 1 kB, path: l}
seed: 1
"""
FABRIC = """\
network: {fabric: leaf-spine, leaves: 2, spines: 2, hosts: 2}
flows:
  - {name: f, src: h1, dst: h3, size: 1 kB}
"""
#: What is replaced in the network, by what, and the message after the name of the file, in lines of the width of ours.
MISTAKES = """\
path: l -> path: [50 ms, l]
line 11: flows.f.path: ['50 ms', 'l'] is not possible; it must be a list of slots, each a list of its own: [[50
ms, l]]

path: l -> path: [50 ms, l, 50 ms, m]
line 11: flows.f.path: ['50 ms', 'l', '50 ms', 'm'] is not possible; it must be a list of slots, each a list of
its own: [[50 ms, l], [50 ms, m]]

path: l -> path: [[50 ms, l], 50 ms, m]
line 11: flows.f.path: [['50 ms', 'l'], '50 ms', 'm'] is not possible; it must be a list of slots, each a list
of its own: [[50 ms, l], [50 ms, m]]

path: l -> path: [l, m]
line 11: flows.f.path: ['l', 'm'] is not possible; it must be a list of slots, each a list of its own: [[50 ms,
l], [50 ms, m]]

path: l -> path: [[l, 50 ms], [50 ms, m]]
line 11: flows.f.path[0]: ['l', '50 ms'] is not possible; it must be a pair whose duration comes first: [50 ms,
l]

path: l -> path: {50 ms: l}
line 11: flows.f.path: {'50 ms': 'l'} is not possible; it must be a link, or a list of slots such as [[50 ms,
blue], [50 ms, green]]

path: l -> path: [[0 ms, l], [50 ms, m]]
line 11: flows.f.path[0].duration: '0 ms' is not possible; it must be a duration from 1 us to 86400 s

buffer: 100 kB -> aqm: {kind: codel, taget: 5 ms}
line 8: network.links.l.aqm.taget: there is no option of codel 'taget'. Did you mean 'target'? Possible: limit,
target, interval, ce_threshold, ecn, noecn

buffer: 100 kB -> aqm: {codel: {target: 5 ms}}
line 8: network.links.l.aqm.kind: it is missing; the discipline is its value: {kind: codel}, with the options
beside it

buffer: 100 kB -> aqm: {target: 5 ms}
line 8: network.links.l.aqm.kind: it is missing; write one of codel, fq_codel, fq_pie, pie, sfb, which have the
option target

buffer: 100 kB -> aqm: {}
line 8: network.links.l.aqm.kind: it is missing; write one of bfifo, cake, choke, codel, ets, fq, fq_codel,
fq_pie, pfifo, pie, prio, red, sfb, sfq

at: left -> at: left, aqm: codel
line 5: network.hosts.a.aqm: there is no field 'aqm' here; it is a field of network.hosts.port and network.links

rate: 1 Gb/s, delay -> rate: {trace: none.csv}, delay
line 8: network.links.l.rate: there is no file 'none.csv'. Files there: bad.csv

rate: 1 Gb/s, delay -> rate: {trace: bad.csv}, delay
line 8: network.links.l.rate: {'trace': 'bad.csv'} is not possible; it must be a trace: a whole number of
milliseconds in each line (mahimahi), or CSV with a header such as t_s,rate_Mbps (times t_s, t_ms, t_us, t_ns;
rates rate_bps, rate_kbps, rate_Mbps, rate_Gbps) (bad.csv, line 1: 'hello,world')

rate: 1 Gb/s, delay -> rate: [[1 s, 2 Mbs]], delay
line 8: network.links.l.rate: [['1 s', '2 Mbs']] is not possible; it must be a rate such as '10 Gb/s' (units:
b/s, kb/s, Mb/s, Gb/s, Tb/s); did you mean '2 Mb/s'?

rate: 1 Gb/s, delay -> rate: [1 s, 2 Mb/s], delay
line 8: network.links.l.rate: ['1 s', '2 Mb/s'] is not possible; it must be a list of steps, each a list of its
own, such as [[1 s, 2 Mb/s], [1 s, 16 Mb/s]]

delay: 1 ms -> delay: [[15 s, 20 ms]]
line 8: network.links.l.delay: [['15 s', '20 ms']] is not possible; it must be one duration such as '20 ms',
because the delay of a link does not change; two links of different delays and a timetable between them have the
same effect

delay: 1 ms -> delay: -1 ms
line 8: network.links.l.delay: '-1 ms' is not possible; it must be a duration such as '50 ms' (units: ns, us,
ms, s); a duration is not negative

delay: 1 ms -> delay: -1
line 8: network.links.l.delay: -1 is not possible; it must be a duration such as '50 ms'; a duration is not
negative

rate: 1 Gb/s, delay -> rate: 10Gb, delay
line 8: network.links.l.rate: '10Gb' is not possible; it must be a rate such as '10 Gb/s' (units: b/s, kb/s,
Mb/s, Gb/s, Tb/s); did you mean '10 Gb/s'?

rate: 1 Gb/s, delay -> rate: 10G, delay
line 8: network.links.l.rate: '10G' is not possible; it must be a rate such as '10 Gb/s' (units: b/s, kb/s,
Mb/s, Gb/s, Tb/s); did you mean '10 Gb/s'?

rate: 1 Gb/s, delay -> rate: 10 GB, delay
line 8: network.links.l.rate: '10 GB' is not possible; it must be a rate such as '10 Gb/s' (units: b/s, kb/s,
Mb/s, Gb/s, Tb/s); GB is a size: write Gb/s, bits in a second

size: 1 kB -> size: 2
line 11: flows.f.size: 2 is not possible; it must be a size with its unit, such as '2 GiB'

src: a -> src: c
line 11: flows.f.src: there is no host 'c'. Possible: a, b

name: m, -> name: l,
line 9: network.links[1].name: the name 'l' occurs twice; links[0] has it, too

[{name: left}, {name: right}] -> [{name: left}, right]
line 3: network.switches[1]: 'right' is not possible; it must be a mapping, such as {name: right}

name: mine -> mtu: 1500 B
line 1: network.name: it is missing; write a name: a letter followed by at most 31 letters, digits, _, - or .; a
range such as flow-[1-6] names several

, rate: 1 Gb/s} -> }
line 5: network.hosts.a.rate: it is missing; write a rate from 1 kb/s to 10 Tb/s

seed: 1 -> engine: ns3
line 12: engine: 'ns3' is not possible; it must be a mapping, such as {kind: ns3}

seed: 1 -> seed: one
line 12: seed: 'one' is not possible; it must be a whole number from 0 to 4294967295

seed: 1 -> workloads: [{name: w, sizes: web-search, arrivals: once, load: 50 %}]
line 12: workloads.w.load: there is no field 'load' here; it is a field of workloads.arrivals
"""


def message(directory: Path, text: str, name: str = "mine.yaml") -> str:
    """Return the message on a file."""
    (directory / name).write_text(text)
    with pytest.raises(InputError) as caught:
        Scenario.load(directory / name)
    return str(caught.value).replace(f"{directory}/", "")


def mistakes() -> list[tuple[str, str, str]]:
    """Return what is replaced, by what, and the message."""
    cases = []
    for block in MISTAKES.strip().split("\n\n"):
        change, *said = block.split("\n")
        right, wrong = change.split(" -> ")
        cases.append((right, wrong, " ".join(said)))
    return cases


@pytest.mark.parametrize(("right", "wrong", "said"), mistakes(), ids=[wrong for _, wrong, _ in mistakes()])
def test_a_mistake_has_one_message_with_its_cure(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    (tmp_path / "bad.csv").write_text("hello,world\n1,2\n")
    assert right in NETWORK
    assert message(tmp_path, NETWORK.replace(right, wrong, 1)) == f"mine.yaml, {said}"


def test_the_file_without_a_mistake_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(NETWORK)
    assert Scenario.load(tmp_path / "mine.yaml").network.name == "mine"


def test_a_field_of_links_is_no_field_of_a_fabric(tmp_path: Path) -> None:
    said = message(tmp_path, FABRIC.replace("hosts: 2", "hosts: 2, aqm: fq_codel"))
    assert said == (
        "mine.yaml, line 1: network.aqm: 'aqm' is a field of single links, and the fabric leaf-spine sets for all "
        "links: rate, delay, buffer, ecn_threshold, red. In code, with_(**{'network.links.LINK.aqm': ..., "
        "'network.links.LINK.buffer': None}) sets aqm of a link of the fabric"
    )
    (tmp_path / "mine.yaml").write_text(FABRIC)
    link = "network.links.leaf1-spine1"
    changed = Scenario.load(tmp_path / "mine.yaml").with_(**{f"{link}.aqm": "fq_codel", f"{link}.buffer": None})
    assert [link.aqm.kind for link in changed.network.links if link.aqm is not None] == ["fq_codel"]


def test_a_duplicate_in_one_line_does_not_name_the_line_twice(tmp_path: Path) -> None:
    said = message(tmp_path, NETWORK.replace("size: 1 kB", "size: 1 kB, size: 2 kB"))
    assert said == "mine.yaml, line 11: 'size' occurs twice in this line; remove one of them"


@pytest.mark.parametrize(
    ("period", "words"),
    [
        (10, "a duration from 1 us to 86400 s; a number alone counts ns, so write its unit: '10 ms'"),
        (0, "a duration from 1 us to 86400 s"),
        ("10", "a duration such as '50 ms' (units: ns, us, ms, s); did you mean '10 ms'?"),
    ],
)
def test_a_period_is_named_once_for_all_slots(period: object, words: str) -> None:
    moving = {"name": "f", "size": 1000, "path": [["5 ms", "blue"], ["5 ms", "green"]]}
    flows = [{**moving, "name": name} for name in ("main", "migrated")]
    base = Scenario.from_dict({"network": "aykurt", "flows": flows})
    with pytest.raises(InputError) as caught:
        base.with_(period=period)
    allowed = f"it must be None (each flow stays on its first link) or {words}"
    assert str(caught.value) == f"period: {period!r} is not possible; {allowed}"


def test_a_file_that_is_not_there_proposes_only_a_similar_one(tmp_path: Path) -> None:
    (tmp_path / "15net.yaml").write_text(FABRIC)
    (tmp_path / "folder.yaml").mkdir()
    for name, said in (
        ("nope.yaml", "there is no file 'nope.yaml'. Files there: 15net.yaml, folder.yaml"),
        ("15nat.yaml", "there is no file '15nat.yaml'. Did you mean '15net.yaml'?"),
        ("folder.yaml", "'folder.yaml' is a directory; name a file in it"),
    ):
        with pytest.raises(InputError) as caught:
            Scenario.load(tmp_path / name)
        assert str(caught.value).replace(f"{tmp_path}/", "") == f"scenario: {said}"


@pytest.mark.parametrize(
    ("qdisc", "tc"),
    [
        ("hhf", "hhf"),
        ("pfifo_fast", "pfifo_fast"),
        ({"kind": "netem", "delay": "5 ms"}, "netem delay 5ms"),
        ({"kind": "tbf", "rate": "10mbit", "burst": 20_000}, "tbf rate 10mbit burst 20000"),
    ],
)
def test_a_host_may_have_disciplines_that_lines_do_not_have(qdisc: object, tc: str) -> None:
    assert Qdisc.model_validate(qdisc).tc == tc


def test_the_path_and_the_variant_that_a_preset_needs(tmp_path: Path) -> None:
    text = "network: aykurt\nflows:\n  - {name: main, size: 2 GiB, cc: cubic, path: green}\n"
    for right, wrong, said in (
        (
            ", path: green",
            "",
            (
                "line 3: flows.main.path: flow 'main' has no path. Write path: with one of green, blue, dark, "
                "bypass, or with a timetable"
            ),
        ),
        (
            "cubic",
            "cubik",
            (
                "line 3: flows.main.cc: there is no congestion control 'cubik'. Did you mean 'cubic'? Possible: cubic, "
                "reno, westwood, bbr, dctcp, retcp, nuftcp, bic, cdg, highspeed, htcp, hybla, illinois, lp, nv, "
                "scalable, vegas, veno, yeah, or a C file of your own, which `engine: {algorithm: FILE.c}` names"
            ),
        ),
    ):
        assert message(tmp_path, text.replace(right, wrong)) == f"mine.yaml, {said}"
    said = message(tmp_path, text.replace("aykurt", "aykrut"))
    assert said.startswith("mine.yaml, line 1: network: there is no network 'aykrut'. Did you mean 'aykurt'? Possible:")
