# SPDX-License-Identifier: Apache-2.0
"""Scenarios that mutations begin with: together they have nearly every field, and every kind of field."""

from __future__ import annotations

import struct
from pathlib import Path

#: A preset with timetables; a network of several switches, written out; a fabric with notifications and settings; a
#: host with several lines; workloads; programs; an architecture with circuits on demand; own circuits; P4; a controller
#: of OpenFlow; ns-3; own congestion control; a wide area; a schedule with echo and tables of hops; a shared queue.
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
    """
network: {fabric: leaf-spine, leaves: 3, spines: 2, hosts: 4, buffer: 300 kB, ecn_threshold: 60 kB, delay: 1 us}
workloads:
  - {name: web, sizes: web-search, arrivals: {load: 40 %, of: fabric}, at_most: 1 MB, until: 5 ms, cc: dctcp}
  - {name: fan, pattern: incast, to: h1, fan: 3, sizes: 20 kB, arrivals: {interval: 1 ms}, count: 3, start: 1 ms}
  - {name: all, pattern: all-to-all, hosts: ["h[1-3]"], sizes: [[10 kB, 50 %], [1 MB, 100 %]], arrivals: once}
  - {name: turn, pattern: stride, stride: 2, sizes: sizes.csv, arrivals: {file: arrivals.csv}, count: 9, rounds: 2,
     think: 1 us}
  - {name: some, pattern: matrix, matrix: matrix.csv, sizes: 1 kB, arrivals: {poisson: 1 ms}, count: 4}
  - {name: few, pattern: matrix, matrix: [[h1, h2, 3], [h2, h9, 1]], sizes: 1 kB, arrivals: once, after: all}
  - {name: mixed, pattern: racks, sizes: 9 kB, arrivals: {instants: [1 ms, 2 ms]}, protocol: tcp, path: ecmp}
  - {name: racks, pattern: racks, sizes: hadoop, arrivals: {load: 10 %, of: hosts, counts: uncut}, until: 3 ms}
probes: {bin: 1 ms, snapshots: 1 ms, discards: true, count: [leaf1-spine1], tcp: none}
limit: 20 ms
""",
    """
network: {fabric: dumbbell, pairs: 4, rate: 100 Mb/s, delay: 5 ms, red: {min: 30 kB, max: 90 kB, probability: 10 %}}
flows:
  - {name: bulk, src: s1, dst: r1, size: 1 MB, rate: 5 Mb/s, on: 10 ms, off: 20 ms, until: 900 ms}
  - {name: next, src: s1, dst: r1, size: 1 kB, rounds: 4, think: 2 ms, after: bulk}
  - {name: again, src: s2, dst: r2, protocol: udp, replay: small.pcap}
programs:
  - {host: r4, run: python3 -m http.server 80, background: true, files: [page.txt, "www/*.txt", www]}
  - {host: "s[2-4]", run: "./get.sh {r4} -o=page.txt", start: 1 ms, cc: dctcp, name: "get[2-4]", path: bypass}
hosts: [{name: s1, transport: {rmem: [4 KiB, 64 KiB, 1 MiB], wmem: [4 KiB, 64 KiB, 1 MiB], notsent_lowat: 16 kB}}]
quic: {name: mine, version: "1.0", server: "gtlsserver {address} {port} {key} {certificate}",
  client: "gtlsclient {address} {port}"}
jitter: {phase: 1 us}
limit: 1 s
""",
    """
network: {fabric: helios, racks: 4, hosts: 2, packet_rate: 1 Gb/s, every: 1 ms, reaction: 100 us, night: 20 us,
  measure: sent, controller: choose.py, host_buffer: 100 packets, packet_buffer: 90 kB, packet_delay: 2 us}
flows: [{name: "f[1-4]", src: "h[1-4]", dst: "h[5-8]", size: 1 MB, cc: cubic}]
limit: 100 ms
""",
    """
network: {fabric: circuits, racks: 4, hosts: 1, uplinks: 2, slot: 100 us, night: 10 us, routing: ucmp,
  queue: 500 kB, ways: 3, hop_cost: 20 us,
  circuits: [[1, 1, 1, 2, 1], [1, 3, 1, 4, 1], [2, 1, 2, 3, 2], [2, 2, 2, 4, 2], [3, 1, 1, 4, 1], [3, 2, 1, 3, 1]]}
flows: [{name: a, src: h1, dst: h3, size: 1 MB}, {name: b, src: h2, dst: h4, size: 1 MB, path: ecmp, back: same}]
limit: 100 ms
""",
    """
network: {fabric: circuits, racks: 4, circuits: circuits.csv, split: packet, routing: vlb}
workloads: [{name: w, sizes: 10 kB, pattern: matrix, matrix: [[h1, h2, 1]], arrivals: {poisson: 1 ms}, until: 2 ms}]
engine: {kind: ns3}
limit: 10 ms
""",
    """
network: {fabric: opera, racks: 8, hosts: 1, uplinks: 4, ecn_threshold: 100 kB, slice: 100 us, night: 10 us}
workloads: [{name: w, pattern: permutation, sizes: 10 kB, arrivals: once}]
limit: 10 ms
""",
    """
network: {fabric: jupiter, racks: 4, uplinks: 2, day: 1 ms,
  demands: [[[0, 1, 2, 1], [1, 0, 1, 1], [2, 1, 0, 3], [1, 1, 3, 0]]]}
flows: [{name: a, src: h1, dst: h3, size: 1 MB}]
limit: 10 ms
""",
    """
network: {fabric: shale, racks: 9, levels: 2, day: 10 us, night: 2 us}
flows: [{name: a, src: h1, dst: h9, size: 1 MB}]
limit: 10 ms
""",
    """
network:
  name: programmed
  switches:
    - {name: p, kind: bmv2, program: compiled.json, entries: ["table_set_default t drop", "table_add t go 1 => 2"]}
  hosts: [{name: a, at: p, rate: 10 Mb/s}, {name: b, at: p, rate: 10 Mb/s}]
  links: []
switch: {kind: bmv2, entries: entries.txt}
flows: [{name: x, src: a, dst: b, size: 10 kB}]
limit: 1 s
""",
    """
network: {fabric: leaf-spine, leaves: 2, spines: 2, hosts: 1, rate: 10 Mb/s, host_rate: 10 Mb/s}
switch: {kind: ovs, controller: controller.py, table_size: 40, observe_links: true}
flows: [{name: x, src: h1, dst: h2, size: 10 kB}]
limit: 1 s
""",
    """
network: {fabric: rotor, racks: 4, packet_rate: 10 Gb/s, packet_delay: 1 us, packet_buffer: 1 MB,
  rate: 40 Gb/s, host_rate: 40 Gb/s, day: 180 us, night: 20 us, queue: 16 packets}
flows: [{name: "f[1-2]", src: "h[1-2]", dst: "h[3-4]", size: 1 MB, cc: dctcp, path: ecmp}]
transport: {rto_min_us: 1000, sack: true}
engine: {kind: ns3}
probes: {fold: 400 us, fold_from: 400 us, bin: 10 us}
limit: 3 ms
""",
    """
network: vargas
flows: [{name: "f[1-3]", src: "n[1-3]", dst: r, path: shared, cc: gentle, size: 1 MB, start: 1 us}]
engine: {algorithm: own.c, parameters: [{name: tcp_gentle, values: [[beta, 3]]}]}
transport: {dsack: false, pacing_ss_ratio: 150, recovery: 3, timestamps: false}
limit: 1 s
""",
    """
network: {fabric: wide-area, rtts: [10 ms, 20 ms], extra: 5 ms, access_rate: 100 Mb/s, share: 10 %, least: 10 packets}
flows: [{name: "f[1-2]", src: "s[1-2]", dst: "r[1-2]", size: 1 MB, path: [[1 s, short], [1 s, long]]}]
limit: 2 s
""",
    """
network: {fabric: shared-queue, near: 2, far: 2, near_rtt: 100 us, far_rtt: 1 ms, receiver_rate: 100 Gb/s}
flows: [{name: "f[1-2]", src: "n[1-2]", dst: r, size: 1 MB, path: shared}]
limit: 10 ms
""",
    """
network:
  name: traced
  switches: [{name: l}, {name: r}]
  hosts:
    - {name: a, at: l, rate: 1 Gb/s, qdisc: {kind: fq, limit: 100}, corrupt: 1 %, duplicate: 1 %, reorder: true,
       jitter: 1 us,
       bursts: {good_bad: 1 %, bad_good: 30 %, loss_good: 0 %, loss_bad: 50 %}}
    - {name: b, at: r, rate: 1 Gb/s}
  links:
    - {name: cell, between: [l, r], rate: {trace: rates.csv}, delay: 1 ms, buffer: 100 kB}
    - {name: maha, between: [l, r], rate: {trace: maha.trace}, opportunity: 1504, weight: 3, buffer: 10 packets}
    - {name: shaped, between: [l, r], rate: 10 Mb/s,
       aqm: {kind: red, limit: 400000, min: 30000, max: 90000, avpkt: 1000, burst: 55, probability: 0.02}}
  schedules:
    - {name: there, pair: [l, r], slots: [[180 us, cell], [20 us, dark]], phase: 3 us, dark: hold,
       echo: {of: back, tdn: 0, in_advance: 1 us}}
    - {name: back, slots: [[180 us, shaped], [20 us, dark]], pair: [r, l]}
flows: [{name: x, src: a, dst: b, size: 1 MB, path: there, back: back},
  {name: y, src: a, dst: b, size: 1 kB, path: l+maha}]
notify: {model: push, delay: 1 us, channel: data}
limit: 1 s
""",
)

OWN_C = """
static struct tcp_congestion_ops gentle = {
	.ssthresh = tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid, .undo_cwnd = tcp_reno_undo_cwnd, .name = "gentle",
};
static int __init start(void) { return tcp_register_congestion_control(&gentle); }
module_init(start);
"""
#: Files that the scenarios name.
OWN = {
    "sizes.csv": "size,share\n0,0\n1000,50\n20000,100\n",
    "arrivals.csv": "t_us\n1\n20\n300\n",
    "matrix.csv": "h1,h2,3\nh3,h4,1\n",
    "circuits.csv": "slot,rack,uplink,rack,uplink\n1,1,1,2,1\n1,3,1,4,1\n2,1,1,3,1\n2,2,1,4,1\n",
    "rates.csv": "t_s,rate_Mbps\n0,3\n1,5\n",
    "maha.trace": "1\n2\n3\n",
    "page.txt": "a page",
    "www/one.txt": "one",
    "get.sh": "#!/bin/sh\necho $1\n",
    "choose.py": "def decide(demand, circuits):\n    return circuits\n",
    "controller.py": "from os_ken.base.app_manager import OSKenApp\n\n\nclass Mine(OSKenApp):\n    pass\n",
    "compiled.json": '{"parsers": [], "deparsers": [], "pipelines": [], "actions": []}',
    "entries.txt": "table_add a b 1 => 2\n# a comment\n",
    "own.c": OWN_C,
}


def place(directory: Path) -> Path:
    """Write the files that the scenarios name into a directory, and return it."""
    for name, text in OWN.items():
        path = directory / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    packet = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, 0, 0, 64, 17, 0, b"\x0a\0\0\x01", b"\x0a\0\0\x02") + bytes(8)
    record = struct.pack("<IIII", 1, 0, len(packet), len(packet)) + packet
    (directory / "small.pcap").write_bytes(head + record * 2)
    return directory
