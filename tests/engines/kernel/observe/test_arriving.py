# SPDX-License-Identifier: Apache-2.0
"""What programs have sent so far is read from records that a guest has written until then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rdcnlab.engines.kernel.observe import arriving
from rdcnlab.engines.kernel.trace import attribution, fields
from rdcnlab.engines.network import Network, compile_network
from rdcnlab.engines.network.numbers import LAST_CLASS, PORT_LINK, START_NS
from rdcnlab.scenario import Scenario

S = 10**9
EVENT = "ocs_dequeue"


@pytest.fixture
def network() -> Network:
    programs = [{"host": "s1", "run": "iperf3 -c r1"}, {"host": "r1", "run": "iperf3 -s", "background": True}]
    return compile_network(Scenario.from_dict({"network": "dumbbell", "programs": programs}))


def write(directory: Path, network: Network, rows: list[tuple[float, int, str, int]]) -> None:
    """Write records: time in s, link, pair of hosts, bytes."""
    names = fields(network.traffic, EVENT)
    text = "".join(f"field:u32 {name}; offset:0; size:4; signed:0;\n" for name in names)
    (directory / f"{EVENT}.format").write_text(text)
    numbers = {network.traffic.all[place].name: number for number, place in attribution.classes(network).items()}
    table = np.zeros(len(rows), np.dtype([("time", "<u8"), *((name, "<u4") for name in names)]))
    for record, (t_s, link, pair, size) in zip(table, rows, strict=True):
        record["time"], record["link"], record["len"] = START_NS + round(t_s * S), link, size
        record["class"] = numbers.get(pair, LAST_CLASS + 1)
    (directory / f"{EVENT}.trace").write_bytes(table.tobytes())


def test_bytes_count_when_they_arrive_at_a_host_and_once(network: Network, tmp_path: Path) -> None:
    port, inside = PORT_LINK, 0
    write(
        tmp_path,
        network,
        [(0.1, inside, "s1>r1", 1000), (0.2, port, "s1>r1", 1000), (0.3, port, "r1>s1", 60), (0.6, port, "", 9999)],
    )
    # a record that is being written
    with (tmp_path / f"{EVENT}.trace").open("ab") as file:
        file.write(b"\0\0\0")
    seen = arriving.read(network, tmp_path)
    assert seen.names == ("s1>r1", "r1>s1")
    # until the last record of a host's programs
    assert seen.t_ns[-1] == round(0.3 * S)
    assert seen.received_B[-1].tolist() == [1000, 60]
    assert seen.received_B[seen.t_ns < 0.19 * S].max() == 0


def test_of_many_records_some_are_read_and_the_rate_is_right(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arriving, "MOST", 4000)
    both = [(number / 40_000, PORT_LINK, "r1>s1" if number % 2 else "s1>r1", 1000) for number in range(40_000)]
    write(tmp_path, network, both)
    seen = arriving.read(network, tmp_path)
    assert seen.received_B[-1] == pytest.approx([20e6, 20e6], rel=0.06)


def test_a_guest_that_has_written_nothing_has_no_curve(network: Network, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        arriving.read(network, tmp_path)
    write(tmp_path, network, [])
    assert len(arriving.read(network, tmp_path).t_ns) == 1
