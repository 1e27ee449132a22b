# SPDX-License-Identifier: Apache-2.0
"""Looking around in a host at an instant: the clock stands, and what is seen repeats."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from typer.testing import CliRunner

from rdcnlab.app import magic
from rdcnlab.app.cli import app
from rdcnlab.engines.kernel import build, looking
from rdcnlab.engines.kernel.guest.processes import Started
from rdcnlab.engines.kernel.guest.watchdog import Visitor
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario

DATA = {
    "network": {"fabric": "dumbbell", "rate": "100 Mb/s", "delay": "1 ms"},
    "flows": [{"name": "f", "src": "s1", "dst": "r1", "size": "10 MB"}],
    "limit": "10 s",
}
MS = 1_000_000


def test_commands_see_a_host_at_one_instant(kernel: build.Kernel) -> None:
    scenario = Scenario.from_dict(DATA, text=True)
    clock = "awk '{print $1}' /proc/uptime; awk 'BEGIN {for (i = 0; i < 3000000; i++) x += i}'"
    lines = [clock, clock, "ss -tin state established", "exit 3"]
    first = looking.look(scenario, "s1", 100 * MS, lines)
    assert [answer.status for answer in first] == [0, 0, 0, 3]
    # the start is at 60 s of the guest's clock; what the processor computes takes no time
    assert first[0].text == first[1].text == "60.10\n"
    (sent,) = re.findall(r"bytes_acked:(\d+)", first[2].text)
    # 100 Mb/s for 100 ms less the way to the receiver and back, and the opening of the connection
    assert 0.9e6 < int(sent) < 1.25e6
    assert looking.look(scenario, "s1", 100 * MS, lines) == first
    (later,) = looking.look(scenario, "s1", 200 * MS, ["ss -tin state established"])
    assert int(re.findall(r"bytes_acked:(\d+)", later.text)[0]) > int(sent) + 1e6


def test_lines_run_in_one_shell_and_the_clock_stands_between_them(kernel: build.Kernel) -> None:
    scenario = Scenario.from_dict(DATA, text=True)
    socket = "ss -tin state established"
    lines = ["cd /tmp; x=5", "pwd; echo $x", socket, "sleep 0.1", socket, "kill -9 $$", "echo \"x is '$x'\"; (exit 3)"]

    def typed() -> list[looking.Moment]:
        asked, moments = iter(lines), list[looking.Moment]()

        def ask(moment: looking.Moment) -> str | None:
            moments.append(moment)
            return next(asked, None)

        looking.talk(scenario, "s1", 100 * MS, ask)
        return moments

    moments = typed()
    assert [moment.text.strip() for moment in moments[:3]] == ["", "", "/tmp\n5"]
    # the instant, and that instant until a line waits
    assert {moment.now_ns for moment in moments[:4]} == {100 * MS}
    assert 0 <= moments[4].now_ns - 200 * MS < 10_000
    assert {moment.now_ns for moment in moments[4:]} == {moments[4].now_ns}
    # the shell of the third line sees what a command at this instant sees, and 100 ms later more has arrived
    assert looking.look(scenario, "s1", 100 * MS, [socket])[0].text == moments[3].text
    first, second = (int(re.findall(r"bytes_acked:(\d+)", moments[place].text)[0]) for place in (3, 5))
    assert second > first + 1e6
    # a shell that ends is followed by another one
    assert (moments[6].status, moments[7].text.strip(), moments[7].status) == (-9, "x is ''", 3)
    assert typed() == moments


def test_the_clock_stands_however_late_the_host_looks(kernel: build.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest that asks whether there is a line asks thousands of times before a busy host looks."""
    asking, calls = looking._asking, itertools.count()

    def seldom(*words: Any) -> Visitor:
        visit = asking(*words)
        return lambda running: None if next(calls) % 60 else visit(running)

    monkeypatch.setattr(looking, "_asking", seldom)
    lines, instants = iter(["true", "x=1", "echo $x"]), list[int]()

    def ask(moment: looking.Moment) -> str | None:
        instants.append(moment.now_ns)
        return next(lines, None)

    looking.talk(Scenario.from_dict(DATA, text=True), "s1", 100 * MS, ask)
    assert instants == [100 * MS] * 4


def test_a_thousand_lines_of_all_lengths_arrive_whole(kernel: build.Kernel) -> None:
    # the file with a line is replaced while the guest reads it, at any instant of its reading
    lines = [f"echo {'x' * (each % 37)}" for each in range(1000)]
    asked, texts = iter(lines), list[str]()

    def ask(moment: looking.Moment) -> str | None:
        texts.append(moment.text)
        return next(asked, None)

    looking.talk(Scenario.from_dict(DATA, text=True), "r1", 5 * MS, ask)
    assert texts == ["", *(f"{line[5:]}\n" for line in lines)]


def test_a_line_that_runs_until_the_limit_says_so(kernel: build.Kernel) -> None:
    scenario = Scenario.from_dict({**DATA, "limit": "2 s"}, text=True)
    with pytest.raises(looking.LimitReachedError, match=r"limit of 2 s came while 'sleep 9' ran") as caught:
        looking.look(scenario, "s1", 100 * MS, ["echo one", "sleep 9", "echo two"])
    assert [answer.text for answer in caught.value.answers] == ["one\n"]
    lines = iter(["sleep 9"])
    with pytest.raises(looking.LimitReachedError, match="came while the line ran"):
        looking.talk(scenario, "s1", 100 * MS, lambda _: next(lines))


def test_names_of_hosts_are_known_and_others_are_unknown_at_once(kernel: build.Kernel) -> None:
    """A name that nobody has takes no time, because no server is asked for it."""
    scenario = Scenario.from_dict(DATA, text=True)
    clock = "awk '{print $1}' /proc/uptime"
    lines = ["getent hosts r1", clock, "getent hosts nobody", clock]
    there, before, nowhere, after = looking.look(scenario, "s1", 5 * 10**9, lines)
    # all flows have ended at 0.9 s, and the network is still there
    assert there.text.split() == ["10.1.0.3", "r1"]
    assert (nowhere.status, before.text, after.text) == (2, "65.00\n", "65.00\n")


def test_a_guest_is_stopped_while_a_person_thinks() -> None:
    process = subprocess.Popen(["sleep", "600"])
    try:
        with Started(process, process.pid).stopped():
            stopped = os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        goes_on = os.waitid(os.P_PID, process.pid, os.WCONTINUED)
    finally:
        process.kill()
        process.wait()
    assert stopped is not None
    assert goes_on is not None
    assert (stopped.si_code, goes_on.si_code) == (os.CLD_STOPPED, os.CLD_CONTINUED)


def test_errors_say_what_is_possible(kernel: build.Kernel) -> None:
    scenario = Scenario.from_dict(DATA, text=True)
    with pytest.raises(InputError, match=r"there is no host 'h1'\. Possible: s1, s2, r1, r2"):
        looking.look(scenario, "h1", 0, ["true"])
    with pytest.raises(InputError, match="limit"):
        looking.look(scenario, "s1", 10**10, ["true"])


def test_the_command_line_prints_what_commands_print(kernel: build.Kernel, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(yaml.safe_dump(DATA))
    runner = CliRunner()
    done = runner.invoke(app, ["shell", "r1", str(path), "--at", "5 ms", "-c", "hostname -I; exit 2"])
    assert (done.stdout.strip(), done.exit_code) == ("10.1.0.3", 2)
    typed = runner.invoke(app, ["shell", "r1", str(path)], input="echo one\n\nexit\n")
    assert (typed.stdout.strip(), typed.exit_code) == ("one", 0)
    ended = runner.invoke(app, ["shell", "r1", str(path)], input="cd /run\npwd; false\n")
    assert (ended.stdout.strip(), ended.exit_code) == ("/run", 1)


def test_a_cell_shows_what_a_person_sees(kernel: build.Kernel, tmp_path: Path) -> None:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "rdcnlab")
    shell.user_ns["mine"] = Scenario.from_dict(DATA, text=True)
    with capture_output() as seen:
        shell.run_cell_magic("host", 'r1 mine --at "5 ms"', "cd /run\n\nx=3\npwd; echo $x\nsleep 0.01; true\n")
    rows = seen.stdout.splitlines()
    begin = "r1 at 0.005 s> "
    assert rows == [f"{begin}cd /run", f"{begin}x=3", f"{begin}pwd; echo $x", "/run", "3", f"{begin}sleep 0.01; true"]
    path = tmp_path / "s.yaml"
    path.write_text(yaml.safe_dump(DATA))
    assert magic.host(f"r1 {path}", "hostname -I", {}) == "r1 at 0 s> hostname -I\n10.1.0.3 "
    for line, words in (("r1", "scenario"), ("r1 mine --at noon", "at"), ("h1 mine", "no host 'h1'")):
        with pytest.raises(InputError, match=words):
            magic.host(line, "true", shell.user_ns)
