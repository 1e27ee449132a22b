# SPDX-License-Identifier: Apache-2.0
"""Captures as tables, and sent again: each packet at its instant, as long as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from scapy.layers.inet import IP, TCP
from scapy.utils import rdpcap

from rdcnlab.fields.errors import InputError
from rdcnlab.runs import captured
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest, Seen

NETWORK = {"fabric": "dumbbell", "rate": "1 Gb/s", "delay": "50 us", "ecn_threshold": "20 kB"}


def table(scenario: Scenario, seen: Seen, host: str) -> pd.DataFrame:
    return captured.table(scenario, host, lambda name: seen.directory / name)


def sending(*flows: dict[str, object], capture: str) -> Scenario:
    named = [{"name": f"f{n}", "src": "s1", "dst": "r1", **flow} for n, flow in enumerate(flows)]
    return Scenario.from_dict({"network": NETWORK, "flows": named, "limit": "1 s", "probes": {"capture": [capture]}})


def test_a_capture_as_a_table_has_what_another_reader_finds(run_guest: RunGuest) -> None:
    scenario = sending(
        {"size": "300 kB", "cc": "dctcp"},
        {"protocol": "udp", "rate": "50 Mb/s", "until": "3 ms", "dst": "r2"},
        capture="s1",
    )
    seen = run_guest(scenario)
    ours = table(scenario, seen, "s1")
    theirs = rdpcap(str(seen.directory / "s1.pcapng"))
    assert len(ours) == len(theirs) > 200
    for row, frame in zip(ours.itertuples(), theirs, strict=True):
        ip = frame[IP]
        assert (row.length_B, row.ttl, row.ip_id) == (frame.wirelen, ip.ttl, ip.id)
        assert (row.sport, row.dport) == (ip.payload.sport, ip.payload.dport)
        assert row.ecn == ("", "ECT(1)", "ECT(0)", "CE")[ip.tos & 3]
        if row.protocol == "udp":
            assert row.payload_B == ip.payload.len - 8
            assert pd.isna(row.seq)
            continue
        tcp = frame[TCP]
        stamps = dict(option for option in tcp.options if option[0] == "Timestamp")["Timestamp"]
        assert (row.seq, row.window, row.ts_val, row.ts_ecr) == (tcp.seq, tcp.window, *stamps)
        assert row.payload_B == ip.len - 20 - tcp.dataofs * 4
        letters = {"S": "SYN", "A": "ACK", "F": "FIN", "P": "PSH", "E": "ECE", "C": "CWR", "R": "RST", "U": "URG"}
        assert set(row.flags.split()) == {letters[letter] for letter in str(tcp.flags)}
    assert set(ours["flow"]) == {"f0", "f1"}
    assert set(ours["src"]) == {"s1", "r1"}
    assert ours.loc[ours["leaves"], "payload_B"].groupby(ours["flow"]).sum()["f0"] == 300_000
    assert (ours["ecn"] == "ECT(0)").any()
    with pytest.raises(InputError, match=r"there is no captured host 'r1'\. Possible: s1"):
        captured.table(scenario, "r1", lambda name: Path(name))


def test_a_capture_that_is_sent_again_keeps_its_instants_and_sizes(run_guest: RunGuest, tmp_path: Path) -> None:
    first = sending({"size": "200 kB"}, {"protocol": "udp", "rate": "9 Mb/s", "until": "4 ms"}, capture="s1")
    seen = run_guest(first)
    shutil.copy(seen.directory / "s1.pcapng", tmp_path / "mine.pcapng")
    was = table(first, seen, "s1").query("leaves").reset_index(drop=True)
    again = sending(
        {"protocol": "udp", "replay": str(tmp_path / "mine.pcapng"), "start": "1 ms"},
        capture="s1",
    )
    sent = run_guest(again)
    now = table(again, sent, "s1")
    assert (now["length_B"] == was["length_B"]).all()
    # the host's line of 10 Gb/s has one packet after the other; a call for each takes its time in the kernel
    assert (now["t_ns"] - 1_000_000 - was["t_ns"]).abs().max() < 3_000
    row = sent.tables["flows"].iloc[0]
    assert row["finished"]
    assert row["received_B"] == again.total_B(again.flows[0])
    assert row["end_s"] == pytest.approx(0.001 + (was["t_ns"].iloc[-1] - was["t_ns"].iloc[0]) / 1e9, abs=1e-6)
