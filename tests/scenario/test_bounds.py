# SPDX-License-Identifier: Apache-2.0
"""Every file that a scenario names is a regular one with a bound, and every size is asked before anything is built."""

from __future__ import annotations

import gc
import os
import re
import resource
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml

from rdcnlab.fields import input_file
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.input_file import Bound
from rdcnlab.scenario import Scenario, document
from rdcnlab.scenario.ranges import MOST_ITEMS

_FABRIC = {"fabric": "dumbbell"}
_TWO = {
    "name": "two",
    "switches": [{"name": "l"}, {"name": "r"}],
    "hosts": [{"name": "a", "at": "l", "rate": "1 Gb/s"}, {"name": "b", "at": "r", "rate": "1 Gb/s"}],
}
_LINE = {"name": "x", "between": ["l", "r"], "delay": "1 us"}


def _workload(**fields: Any) -> dict[str, Any]:
    return {"network": _FABRIC, "workloads": [{"name": "w", "sizes": "1 MB", "arrivals": "once", **fields}]}


def _switch(**fields: Any) -> dict[str, Any]:
    return {"network": "aykurt", "switch": fields}


#: Every field that names a file: the end of the file's name, the field in the error, and the scenario.
FIELDS: dict[str, tuple[str, str, Callable[[str], dict[str, Any]]]] = {
    "arrivals": (".csv", "workloads.w.arrivals", lambda file: _workload(arrivals={"file": file})),
    "matrix": (".csv", "workloads.w.matrix", lambda file: _workload(pattern="matrix", matrix=file)),
    "sizes": (".csv", "workloads.w.sizes", lambda file: _workload(sizes=file)),
    "circuits": (".csv", "network.circuits", lambda file: {"network": {"fabric": "circuits", "circuits": file}}),
    "trace": (".csv", "network.links.x.rate", lambda file: {
        "network": {**_TWO, "links": [{**_LINE, "rate": {"trace": file}}]},
    }),
    "P4 program": (".json", "switch.program", lambda file: _switch(kind="bmv2", program=file)),
    "P4 entries": (".txt", "switch.entries", lambda file: _switch(kind="bmv2", entries=file)),
    "controller": (".py", "switch.controller", lambda file: _switch(kind="ovs", controller=file)),
    "circuits on demand": (".py", "network.controller", lambda file: {
        "network": {"fabric": "helios", "controller": file},
    }),
    "own algorithm": (".c", "engine.algorithm", lambda file: {"network": "aykurt", "engine": {"algorithm": file}}),
    "own algorithms": (".c", "engine.algorithms[0]", lambda file: {
        "network": "aykurt", "engine": {"algorithms": [file]},
    }),
    "replay": (".pcap", "flows.f.replay", lambda file: {
        "network": "aykurt",
        "flows": [{"name": "f", "protocol": "udp", "src": "s1", "dst": "r1", "path": "green", "replay": file}],
    }),
    "program": ("", "programs[0]", lambda file: {
        "network": "aykurt", "programs": [{"host": "s1", "run": f"./{file}"}],
    }),
    "files of a program": ("", "programs[0].files", lambda file: {
        "network": "aykurt", "programs": [{"host": "s1", "run": "cat", "files": [file]}],
    }),
}  # fmt: skip
#: What the errors of these files say; programs say in their own words that there is no such file.
KINDS = {
    "pipe": "is a pipe; name a regular file",
    "device": "is a device; name a regular file",
    "socket": "is a socket; name a regular file",
    "loop": "Too many levels of symbolic links",
    "large": "has 20000000000 bytes; ",
    "hidden": "Permission denied",
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a file of each kind that is none."""
    here = tmp_path_factory.mktemp("kinds")
    with socket.socket(socket.AF_UNIX) as server:
        for end in {end for end, _, _ in FIELDS.values()} | {".yaml"}:
            os.mkfifo(here / f"pipe{end}")
            (here / f"device{end}").symlink_to("/dev/zero")
            (here / f"loop{end}").symlink_to(f"loop{end}")
            with (here / f"large{end}").open("wb") as file:
                file.truncate(20_000_000_000)
            (here / f"hidden{end}").write_text("hidden")
            (here / f"hidden{end}").chmod(0)
        home = Path.cwd()
        os.chdir(here)  # the name of a socket must be short
        try:
            server.bind("socket")
        finally:
            os.chdir(home)
        for end in {end for end, _, _ in FIELDS.values()} | {".yaml"} - {""}:
            if end:
                (here / f"socket{end}").symlink_to("socket")
        yield here


@pytest.fixture(autouse=True)
def little() -> Iterator[None]:
    """Give a test a gigabyte more, and 100 s; a read of a pipe or a device would take all of it."""

    def late(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError("it waits")

    before = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 2**30, before[1]))
    signal.signal(signal.SIGALRM, late)
    signal.alarm(100)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, before)


def refusal(data: Any, directory: Path | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        Scenario.from_dict(data, text=True, directory=directory)
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("field", FIELDS)
def test_a_file_of_a_scenario_is_a_regular_one_within_its_bound(directory: Path, field: str, kind: str) -> None:
    end, path, scenario = FIELDS[field]
    if kind == "hidden" and os.geteuid() == 0:
        pytest.skip("root may read every file")
    error = refusal(scenario(f"{kind}{end}"), directory)
    assert error.problems[0].field.startswith(path)
    if not end and kind == "large":
        assert "at most 512 MB together" in str(error)
    elif end:
        assert KINDS[kind] in str(error)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    "name", ["x" * 300, "no\0name", "\ud800", "a/b/c", "/dev/zero", "/proc/self/mem", "/proc/kmsg", "."]
)
def test_a_name_that_no_file_has_is_refused(directory: Path, field: str, name: str) -> None:
    end, _, scenario = FIELDS[field]
    str(refusal(scenario(name if name.endswith(end) else name + end), directory)).encode()


@pytest.mark.parametrize("kind", KINDS)
def test_a_scenario_is_a_regular_file_within_its_bound(directory: Path, kind: str) -> None:
    if kind == "hidden" and os.geteuid() == 0:
        pytest.skip("root may read every file")
    with pytest.raises(InputError, match=KINDS[kind]):
        Scenario.load(directory / f"{kind}.yaml")


def test_a_file_without_a_size_ends_at_the_bound() -> None:
    with pytest.raises(OSError, match="has more; a small one has at most 0 MB"):
        input_file.read(Path("/proc/cpuinfo"), Bound("a small one", 100))
    assert input_file.read(Path("/proc/version"), Bound("a small one", 10_000)).startswith(b"Linux")


def test_lines_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "many.csv").write_text("t_us\n" + "1\n" * 3_000_000)
    message = str(refusal(_workload(arrivals={"file": "many.csv"}), tmp_path))
    assert message.endswith("has 3000001 lines; a table has at most 200000")


@pytest.mark.parametrize(
    ("text", "field"),
    [("t_us\n1\ninf\n", "arrivals"), ("t_us\nnan\n", "arrivals"), ("0 0\ninf 100\n", "sizes"), ("1 nan\n", "sizes"),
     ("t_s,rate_Mbps\n0,inf\n", "trace"), ("t_s,rate_Mbps\n0,1\nnan,1\n", "trace"), ("9" * 5000 + "\n", "trace")],
)  # fmt: skip
def test_numbers_of_files_are_finite(tmp_path: Path, text: str, field: str) -> None:
    (tmp_path / "table.csv").write_text(text)
    refusal(FIELDS[field][2]("table.csv"), tmp_path)


# Sizes ---------------------------------------------------------------------------------------------------------------

# CPU time for ten times as many items: 10 if it grows as their number, 100 if it grows as the square
GROWTH = 30


def test_slots_are_asked_before_they_are_built() -> None:
    error = refusal({"network": {"fabric": "circuits", "racks": 4, "circuits": [[10_000_000, 3, 1, 4, 1]]}})
    assert str(error) == (
        "network.circuits[0]: '10000000, 3, 1, 4, 1' is not possible; it must be a slot of 1 to 512, in column 1"
    )


@pytest.mark.parametrize(
    "flow",
    [
        {"size": "1 XB", "src": "s1", "dst": "r1", "path": "green"},
        {"size": "1 MB", "src": "s1", "dst": "r1", "path": "gren"},
        {"size": "1 MB", "src": "s1", "dst": "r9", "path": "green"},
        {"sise": "1 MB", "src": "s1", "dst": "r1", "path": "green"},
        {"size": "1 MB", "src": "s1", "dst": "r1", "path": "green", "cc": "cubik"},
        {"size": "1 MB"},
        {},
    ],
)
def test_30_000_wrong_flows_are_refused_in_a_time_that_grows_as_their_number(flow: dict[str, Any]) -> None:
    def refused(number: int) -> InputError:
        return refusal({"network": "aykurt", "flows": [{"name": f"f{n}", **flow} for n in range(number)]})

    error = refused(30_000)
    assert len(str(error).splitlines()) <= 21
    if len(error.problems) > 1:
        assert error.more > 20_000
    assert _growth(refused) < GROWTH


def test_the_lines_of_30_000_wrong_flows_are_found_in_a_time_that_grows_as_their_number(tmp_path: Path) -> None:
    def refused(number: int) -> None:
        lines = [f"  - {{name: f{n}, size: 1 XB, src: s1, dst: r1, path: green}}" for n in range(number)]
        (tmp_path / "x.yaml").write_text("\n".join(["network: aykurt", "flows:", *lines]))
        with pytest.raises(InputError, match=r"x.yaml, line 3: flows\.f0\.size: '1 XB' is not possible"):
            Scenario.load(tmp_path / "x.yaml")

    assert _growth(refused) < GROWTH


def _growth(refused: Callable[[int], object]) -> float:
    """CPU time for 30 000 flows as a multiple of that for 3000, after one call that fills caches.

    Without garbage collections, which cost as much as all tests before have left.
    """
    times = []
    gc.collect()
    gc.disable()
    try:
        for number in (3000, 3000, 30_000):
            begin = time.process_time()
            refused(number)
            times.append(time.process_time() - begin)
    finally:
        gc.enable()
    return times[-1] / times[-2]


def test_ranges_and_aliases_do_not_multiply_without_end(tmp_path: Path) -> None:
    assert f"at most {MOST_ITEMS} items" in str(refusal({"network": "aykurt", "hosts": [{"name": "h[1-9999]"}] * 300}))
    path = [["1 us", "green"]] * 1024
    flow = {"name": "f[1-9999]", "src": "s1", "dst": "r1", "size": "1 kB", "path": path}
    assert "more than 3000000 values" in str(refusal({"network": "aykurt", "flows": [flow]}))
    assert "at most" in str(refusal({"network": "aykurt", "programs": [{"host": "s[1-9999]", "run": "true"}] * 3000}))
    assert "at most" in str(refusal(_workload(hosts=["h[1-9999]"] * 3000)))
    laughs = "\n".join(
        [
            "a: &a [x, x]",
            *(f"{b}: &{b} [{', '.join(['*' + a] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        ]
    )
    (tmp_path / "x.yaml").write_text(f"network: aykurt\n{laughs}\nflows: *i\n")
    with pytest.raises(InputError, match="more than 3000000 values"):
        Scenario.load(tmp_path / "x.yaml")


@pytest.mark.parametrize("data", [_workload(sizes="\ud800"), {"\ud800": 1, "network": "aykurt"}, {"network": "\udcff"}])
def test_half_of_a_surrogate_pair_is_refused_with_a_sentence(data: Any) -> None:
    str(refusal(data)).encode()


def test_text_of_a_wrong_kind_of_string_says_where() -> None:
    data = {"network": "aykurt", "flows": [{"name": "a\ud800"}]}
    assert str(refusal(data)).startswith("flows[0].name: 'a\\ud800' is not possible")


YAML = ["a: 1\na: 2\n", "x: 0x10\ny: 1e3\nz: 12:30\nb: yes\n", "a: *b\n", "- &a [1]\n- *a\n", "a:\n\t- b\n"]


def test_long_files_are_read_as_short_ones() -> None:
    """Files above 100 000 characters are read with libyaml: both readers give the same data, or both refuse."""
    root = Path(__file__).parents[2]
    shown = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
    texts = [text for path in sorted((root / "docs").rglob("*.md")) for text in shown.findall(path.read_text())]
    assert len(texts) > 30
    for text in [*texts, *YAML]:
        seen = []
        for reader in (document._Loader, document._FastLoader):
            try:
                seen.append(repr(reader(text).get_single_data()))
            except (yaml.YAMLError, document._Fault) as error:
                seen.append(type(error).__name__)
        assert seen[0] == seen[1], text
