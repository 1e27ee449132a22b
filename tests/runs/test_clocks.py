# SPDX-License-Identifier: Apache-2.0
"""Runs in progress are seen by their virtual clocks."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.runs import clocks
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario
from tests.conftest import wait_for
from tests.fake_engine import TAKES

pytestmark = pytest.mark.usefixtures("fake_engine")


def tick(store: Store, identifier: str, virtual_ns: int) -> None:
    """Write the clock of a run in progress."""
    path = store.root / ".work" / f"{identifier}.0011223344556677" / "engine" / "clock"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", virtual_ns))


class Bar:
    """What a progress bar is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def set_description_str(self, words: str) -> None:
        self.said.append(words)


def test_only_the_runs_of_these_scenarios_count(store: Store, two_flows: Scenario) -> None:
    first, other = two_flows.with_(seed=1), two_flows.with_(seed=2)
    tick(store, run_id(first, "fa4e"), START_NS + 1_500_000_000)
    tick(store, run_id(other, "fa4e"), START_NS + 9)
    assert clocks.Clocks([first], store).read() == [clocks.Seen(first, 1_500_000_000)]
    # a guest that boots has not begun; a clock that is just written has no value
    tick(store, run_id(first, "fa4e"), 5)
    assert clocks.Clocks([first], store).read() == [clocks.Seen(first, 0)]
    next((store.root / ".work").glob(f"{run_id(first, 'fa4e')}*/engine/clock")).write_bytes(b"")
    assert clocks.Clocks([first], store).read() == []


def test_a_bar_shows_the_time_while_the_block_lasts(store: Store, two_flows: Scenario) -> None:
    bar = Bar()
    tick(store, run_id(two_flows, "fa4e"), START_NS + 250_000_000)
    with clocks.shown([two_flows], store, bar):
        wait_for(lambda: bar.said)
    assert bar.said[0].startswith("virtual time 0.25 s (ends by ")
    assert bar.said[-1] == ""


def test_many_runs_are_followed_by_their_count(store: Store, two_flows: Scenario) -> None:
    with clocks.shown([two_flows] * (clocks.MOST + 1), store, None):
        pass


def test_a_campaign_shows_the_time_only_with_a_bar(
    store: Store, two_flows: Scenario, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    looked: list[Any] = []
    monkeypatch.setattr(clocks, "describe", lambda found: looked.append(found) or "")
    campaign([two_flows.with_(seed=TAKES)], store=store, workers=1, progress=False)
    assert not looked
    campaign([two_flows.with_(seed=TAKES + 1)], store=store, workers=1, progress=True)
    assert looked
