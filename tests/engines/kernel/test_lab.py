# SPDX-License-Identifier: Apache-2.0
"""A lab: what is typed runs at exact instants, can be taken back, and is a scenario that gives the same bytes."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from rdcnlab import InputError, Lab, RunError, Scenario, Store, campaign
from rdcnlab.app.cli import app
from rdcnlab.app.cli.lab import obey
from rdcnlab.engines.kernel import build
from rdcnlab.runs import clocks, live, sockets
from rdcnlab.runs.live import Curve

#: Two hosts, 5 ms apart.
NETWORK = {
    "name": "two",
    "hosts": [{"name": "s1", "at": "sw1", "rate": "1 Gb/s"}, {"name": "r1", "at": "sw2", "rate": "1 Gb/s"}],
    "switches": [{"name": "sw1"}, {"name": "sw2"}],
    "links": [{"name": "l1", "between": ["sw1", "sw2"], "rate": "100 Mb/s", "delay": "5 ms", "buffer": "100 kB"}],
}
#: A server that reads, and a client that writes for so many seconds.
TALK = """
import socket, sys, time
if sys.argv[1] == "serve":
    listener = socket.create_server(("", 5000))
    while True:
        talk, _ = listener.accept()
        while talk.recv(1 << 20):
            pass
talk = socket.create_connection((sys.argv[1], 5000))
end = time.monotonic() + float(sys.argv[2])
sent = 0
while time.monotonic() < end:
    sent += talk.send(bytes(1 << 16))
print(sent)
"""


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a network, and a program beside it; commands store runs there, too."""
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    path = tmp_path / "net.yaml"
    path.write_text(yaml.safe_dump({"network": NETWORK}))
    (tmp_path / "talk.py").write_text(TALK)
    return path


def test_a_network_needs_no_flow(network: Path) -> None:
    lab = Lab(network)
    assert (lab.hosts, lab.links, lab.now) == (("s1", "r1"), ("l1",), "0 s")
    assert lab.addresses == {"s1": "10.0.0.1", "r1": "10.1.0.2"}
    assert Lab("aykurt").hosts == ("s1", "s2", "r1", "r2")
    assert Lab({"network": NETWORK}).hosts == lab.hosts
    flow = {"name": "f", "src": "s1", "dst": "r1", "size": "1 MB"}
    with_flow = Scenario.from_dict({"network": NETWORK, "flows": [flow]}, text=True)
    assert Lab(with_flow).scenario.flows == with_flow.flows
    assert "s1" in dir(lab)


def test_what_was_typed_is_a_file_whatever_the_network_is(tmp_path: Path) -> None:
    """A link of a network by name, a link that goes down after the first limit, programs of a file for many hosts."""
    lab = Lab("aykurt")
    lab.path("s1", "green")
    lab.at("120 s")
    lab.link("green", up=False)
    lab.at("+1 s")
    lab.link("green", up=True)
    lab.link("blue", up=False)
    lab.do("s1", "sleep 1 &")
    spans = {link.name: link.down for link in lab.scenario.network.links}
    assert spans == {"green": ((120 * 10**9, 121 * 10**9),), "blue": ((121 * 10**9, 181 * 10**9),)}
    assert Scenario.load(lab.save(tmp_path / "a.yaml")) == lab.scenario
    assert Scenario.load(lab.save(tmp_path / "a.yaml")) == lab.scenario
    many = {"network": {"fabric": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 2}}
    there = Lab({**many, "programs": [{"host": "h[1-3]", "run": "true"}]})
    assert there.do("h4", "sleep 1 &").text == "[h4]\n"
    assert there.do("h1", "sleep 1 &").text == "[h1.2]\n"
    assert there.jobs() == ["h4", "h1.2"]
    assert len(Lab(many).hosts) == 4


def test_a_file_that_is_wrong_has_its_line(network: Path) -> None:
    network.write_text(network.read_text().replace("100 Mb/s", "100 Mb"))
    with pytest.raises(InputError, match=r"net.yaml, line \d+: network.links.l1.rate"):
        Lab(network)


def test_nothing_is_overwritten_that_the_lab_has_not_written(network: Path) -> None:
    lab, before = Lab(network), network.read_text()
    with pytest.raises(InputError, match="a new file"):
        lab.save(network)
    with pytest.raises(InputError, match="can be written"):
        lab.save(network / "a.yaml")
    assert network.read_text() == before


def test_mistakes_name_what_is_possible_and_change_nothing(network: Path) -> None:
    lab = Lab(network)
    lab.do("r1", "sleep 1 &")
    lab.at("2 s")
    before = lab.scenario
    for wrong, words in (
        (lambda: lab.do("h1", "true"), "no host 'h1'. Possible: s1, r1"),
        (lambda: lab.link("l2", up=False), "no link 'l2'"),
        (lambda: lab.link("l1", up=True), "l1 is up already"),
        (lambda: lab.at("1 s"), "not before now, 2 s"),
        (lambda: lab.at("soon"), "a time with a unit"),
        (lambda: lab.wait("s1.2"), "no job 's1.2'"),
        (lambda: lab.path("s1", "green"), "there is no link or switch 'green'"),
        (lambda: lab.path("r1", "l1"), "programs of r1 ran already"),
        (lambda: lab.do("s1", "\x07"), "command line"),
    ):
        with pytest.raises(InputError, match=words):
            wrong()
        assert lab.scenario == before
    with pytest.raises(InputError, match="no file or network 'nope'"):
        Lab("nope")
    with pytest.raises(InputError, match="patience"):
        Lab(network, patience="long")
    with pytest.raises(AttributeError, match="no host 'h1'"):
        lab.h1("true")
    for ask in (lambda: lab.run, lab.plot):
        with pytest.raises(RunError, match="nothing was run yet"):
            ask()


def test_what_is_typed_is_a_scenario_that_gives_the_same_bytes(
    kernel: build.Kernel, network: Path, store: Store
) -> None:
    lab = Lab(network, store=store)
    assert lab.s1("getent hosts r1").text.split() == ["10.1.0.2", "r1"]
    lab.at("1 s")
    assert lab.r1("python3 talk.py serve &").text == "[r1]\n"
    assert lab.jobs() == ["r1"]
    sent = lab.s1("python3 talk.py r1 2")
    # 100 Mb/s for 2 s, less opening and start of TCP, and what its buffer takes
    assert 20e6 < int(sent.text) < 27e6
    assert sent.status == 0
    assert float(lab.now.removesuffix(" s")) == pytest.approx(3, abs=0.05)
    saved = Scenario.load(lab.save(network.parent / "saved.yaml"))
    assert saved == lab.scenario
    (again,) = campaign([saved], store=store, progress=False)
    assert again.id == lab.run.id
    text = sent.text
    lab.undo()
    assert (lab.now, lab.s1("python3 talk.py r1 2").text) == ("1 s", text)


def test_curves_move_while_a_line_runs_and_its_picture_is_beside_what_it_printed(
    kernel: build.Kernel, network: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[list[Curve]] = []

    class Watched(live.Nowhere):
        def show(self, curves: Sequence[Curve]) -> None:
            shown.append(list(curves))

    monkeypatch.setattr(clocks, "screen", Watched)
    monkeypatch.setattr(clocks, "LOOK_S", 0.1)
    lab = Lab(network, store=store)
    lab.watch()
    assert "<img" not in (lab.r1("python3 talk.py serve &")._repr_html_() or "")
    answer = lab.s1("python3 talk.py r1 6")
    of_sender = [curve for curves in shown for curve in curves if curve.name == "s1>r1"]
    ends = [curve.until_s for curve in of_sender]
    assert len(set(ends)) > 2
    assert ends == sorted(ends)
    # with headers, all of the line
    assert of_sender[-1].Gbps[-30:].mean() == pytest.approx(0.1, rel=0.05)
    page = answer._repr_html_()
    assert answer.text in page
    assert "data:image/png;base64," in page
    assert [text.get_text() for text in lab.plot().axes[0].texts] == ["python3 talk.py serve", "python3 talk.py r1 6"]
    # whoever does not watch gets text only
    assert replace(answer, run=None)._repr_html_() is None


def test_earlier_lines_that_print_something_else_are_named(kernel: build.Kernel, network: Path, store: Store) -> None:
    """A program's random numbers depend on the programs that start with it; the time of day does not."""
    lab = Lab(network, store=store)
    lab.r1("date +%s.%N")
    lab.r1("head -c 4 /dev/urandom")
    draws = [lab.run.printed("r1.2")]
    for _ in range(3):
        line = lab.s1("true")
        draws.append(lab.run.printed("r1.2"))
        assert line.changed == (() if draws[-2] == draws[-1] else ("r1.2",))
    assert len(set(draws)) > 1
    lab.undo()
    assert lab.run.printed("r1.2") == draws[-2]


def test_a_run_shows_what_programs_print_and_captures_without_an_edit(kernel: build.Kernel, network: Path) -> None:
    """Of long output the ends are shown, and nothing of it moves the cursor."""
    lines = "seq 20", r"printf '\033[31mred\n'", "sh -c 'echo wrong >&2; exit 3'"
    programs = [{"host": "s1", "run": line} for line in lines]
    path = network.parent / "printing.yaml"
    path.write_text(yaml.safe_dump({"network": NETWORK, "programs": programs}))
    done = CliRunner().invoke(app, ["run", str(path), "--capture", "s1"])
    assert done.exit_code == 0
    for words in ("  6\n  ... (8 lines)\n  15\n", "  ?[31mred\n", "s1.3 printed to standard error:\n  wrong\n"):
        assert words in done.stdout
    captured = Path(re.findall(r"to open in Wireshark: (.*)", done.stdout)[0])
    # a capture without a packet has its header and its interface
    assert captured.read_bytes()[:4] == bytes.fromhex("0a0d0d0a")
    (run,) = [run for run in Store() if run.scenario.probes.capture and run.scenario.programs]
    assert run.programs["stdout"].tolist()[1:] == ["\033[31mred\n", ""]
    refused = CliRunner().invoke(app, ["run", str(path), "--capture", "x9"])
    assert "no host 'x9'" in str(refused.exception)


def test_a_window_falls_when_a_link_breaks(kernel: build.Kernel, network: Path, store: Store) -> None:
    lab = Lab(network, store=store)
    lab.r1("python3 talk.py serve &")
    lab.s1("python3 talk.py r1 2 &")
    lab.at("1 s")
    before = lab.tcp("s1").iloc[0]
    assert (before["cc"], before["peer"]) == ("cubic", "r1:5000")
    # an RTT of 10 ms and a queue of at most 8 ms
    assert 10 < before["rtt_ms"] < 19
    lab.link("l1", up=False)
    lab.at("+500 ms")
    after = lab.tcp("s1").iloc[0]
    assert after["cwnd"] == 1 < before["cwnd"]
    lab.link("l1", up=True)
    lab.wait("s1")
    (down,) = lab.scenario.network.links[0].down
    assert down == (1_000_000_000, 1_500_000_000)
    moved = lab.run.throughput.query("where == 'l1@sw1'").groupby("bin")["bytes"].sum()
    bins = moved.index * lab.scenario.probes.bin / 1e9
    # a frame that is on the line when it breaks still arrives
    assert not moved[(bins > 1.02) & (bins < 1.49)].any()
    assert moved[bins < 1].any()
    picture = network.parent / "lab.png"
    assert obey(lab, f"plot {picture}") == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_a_line_that_does_not_end_is_ended(kernel: build.Kernel, network: Path, store: Store) -> None:
    lab = Lab(network, store=store, patience="3 s")
    answer = lab.s1("sleep 100")
    assert (answer.status, lab.now) == (None, "3 s")
    assert lab.s1("sh -c 'exit 3'").status == 3
    with pytest.raises(RunError, match="no program 'nosuchprogram'"):
        lab.s1("nosuchprogram")
    assert len(lab.scenario.programs) == 2


def test_a_prompt_obeys_lines(kernel: build.Kernel, network: Path) -> None:
    lines = ["show", "s1 getent hosts r1", "link l1 down", "show", "nohost true", "r1 sh -c 'exit 4'"]
    done = CliRunner().invoke(app, ["lab", str(network)], input="\n".join(lines))
    assert done.exit_code == 4
    assert "10.1.0.2" in done.stdout
    assert "0 ns to 60 s" in done.stdout
    assert "there is no host or command 'nohost'" in done.stderr
    assert CliRunner().invoke(app, ["lab", str(network), "-c", "plot"]).stderr == "rdcnlab: nothing was run yet\n"
    first = CliRunner().invoke(app, ["lab", str(network), "-c", "tcp s1", "-c", "at soon", "-c", "show"])
    assert (first.exit_code, first.stdout) == (2, "s1 has no TCP connection at 0 s\n")


def test_keys_in_a_terminal(kernel: build.Kernel, network: Path) -> None:
    """Tab completes a host and a link; the prompt says where the clock stands; Ctrl-D leaves."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(
            sys.executable, [sys.executable, "-c", "from rdcnlab.app.cli import main; main()", "lab", str(network)]
        )
    seen = b""

    def expect(words: bytes) -> None:
        nonlocal seen
        end = time.monotonic() + 120
        while words not in seen:
            assert time.monotonic() < end, seen
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 4096)
        seen = seen.partition(words)[2]

    expect(b"0 s> ")
    os.write(terminal, b"s1\tgetent hosts r\t\n")
    expect(b"10.1.0.2")
    os.write(terminal, b"at 2 s\n")
    expect(b"\n2 s> ")
    os.write(terminal, b"\x04")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_sockets_are_rows() -> None:
    assert sockets.table("", {}).empty
    text = "ESTAB 0 0 10.0.0.1:5 10.9.0.9:80\n\t bbr rtt:1.5/0.2 cwnd:20 retrans:0/3 delivery_rate 5000000bps\n"
    (row,) = sockets.table(text, {"s1": "10.0.0.1"}).to_dict("records")
    known = ("local", "peer", "cc", "rtt_ms", "retransmits", "delivery_Mbps")
    assert [row[name] for name in known] == ["s1:5", "10.9.0.9:80", "bbr", 1.5, 3, 5]
