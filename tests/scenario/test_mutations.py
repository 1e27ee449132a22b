# SPDX-License-Identifier: Apache-2.0
"""Short and long runs of `tests.scenario.mutate`, and what earlier ones have found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from tests.scenario import mutate
from tests.scenario.originals import place

_OPERA = {"fabric": "opera", "racks": 8, "hosts": 1, "uplinks": 4, "slice": "100 us", "night": "10 us"}
_CIRCUITS = {"fabric": "circuits", "racks": 4, "hosts": 1, "uplinks": 2, "slot": "100 us", "night": "10 us"}
_MAIN = {"name": "main", "size": "2 GiB", "cc": "cubic", "path": "green"}
#: What was found with its error: tracebacks, minutes, and gigabytes.
FOUND: list[tuple[dict[str, Any], str]] = [
    ({"network": {**_CIRCUITS, "circuits": [[10_000_000, 1, 1, 2, 1]]}}, "it must be a slot of 1 to 512, in column 1"),
    (
        {"network": "aykurt", "flows": [_MAIN], "hosts": [{"name": "h[1-9999]", "transport": {"sack": False}}] * 300},
        "hosts: 2999700 items is not possible; it must be at most 100000 items",
    ),
    ({"network": "aykurt", "flows": [_MAIN], "quic": {"name": "\ud800"}}, "quic.name: '\\ud800' is not possible"),
    (
        {"network": _OPERA, "workloads": [{"name": "w", "sizes": "\ud800.csv", "arrivals": "once"}]},
        "\\ud800.csv' is not the name of a file",
    ),
    (
        {"network": _OPERA, "workloads": [{"name": "w", "sizes": "1 kB", "arrivals": {"file": "/dev/zero"}}]},
        "'/dev/zero' is a device; name a regular file",
    ),
    (
        {"network": "aykurt", "programs": [{"host": "s1", "run": "true", "files": ["x" * 300]}]},
        "programs[0].files[0]: there is no file"
    ),
    ({"network": "aykurt", "flows": [{**_MAIN, "\ud800": 1}]}, "a half of a surrogate pair is no character"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "said"), FOUND)
def test_what_was_found_ends_with_a_sentence(data: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        Scenario.from_dict(data, text=True)
    assert said in str(caught.value)


@pytest.mark.parametrize("seed", range(2))
def test_mutated_scenarios_have_a_plan_or_end_with_a_sentence(seed: int) -> None:
    made, faults = mutate.search(seed, count=600)
    assert (made, faults) == (599, [])


@pytest.mark.long
def test_ten_minutes_of_mutations_find_nothing() -> None:
    made, faults = mutate.search(2, seconds=600)
    assert faults == []
    assert made > 10_000


def test_the_originals_have_plans(tmp_path: Path) -> None:
    place(tmp_path)
    for data in mutate.originals():
        mutate.compiled(data, True, tmp_path)


def test_tracebacks_endless_work_and_memory_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(data: Any, text: bool, directory: Path) -> None:
        {}[str(data)]

    def spins(data: Any, text: bool, directory: Path) -> None:
        while True:
            pass

    def grows(data: Any, text: bool, directory: Path) -> None:
        bytearray(2**32)

    for work, said in ((ends, "KeyError"), (spins, "more than 1 s"), (grows, "MemoryError")):
        monkeypatch.setattr(mutate, "compiled", work)
        monkeypatch.setattr(mutate, "SECONDS", 1)
        _, faults = mutate.search(1, count=1)
        assert said in faults[0][0]
