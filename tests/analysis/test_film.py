# SPDX-License-Identifier: Apache-2.0
"""A film shows the run's own numbers, and each frame only what has happened until then."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rdcnlab.analysis import film, scenes, timetables
from rdcnlab.analysis.palettes import FLOWS, LINKS
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario

pytestmark = pytest.mark.usefixtures("fake_engine")
MS = 10**6


@pytest.fixture
def run(two_flows: Scenario, tmp_path: Path) -> Run:
    """A run whose migrated flow moves every 10 ms."""
    asked = two_flows.with_(period="10 ms", size="128 MiB")
    return campaign([asked], store=Store(tmp_path), workers=1, progress=False)[0]


def test_a_film_has_whole_cycles_and_the_links_of_the_timetable(run: Run) -> None:
    shown = scenes.scenes(run)
    step = shown.t_s[0]
    assert shown.t_s[-1] == pytest.approx(scenes.CYCLES * 0.020)
    middle = ((shown.t_s - step / 2) * 1e9).astype(int)
    assert list(shown.target["migrated"]) == list(timetables.targets(run.scenario, "migrated", middle))
    assert set(shown.target["migrated"]) == {"green", "blue"}
    assert set(shown.target["main"]) == {"green"}


def test_rates_and_queues_are_those_of_the_tables(run: Run) -> None:
    shown = scenes.scenes(run)
    step_s, bin_ns = shown.t_s[0], run.scenario.probes.bin
    bins = round(shown.t_s[-1] * 1e9 / bin_ns)
    counted = run.table("throughput").to_pandas()
    counted = counted[(counted["where"] == "receiver") & (counted["bin"] < bins)]
    for flow, rate in shown.rate_bps.items():
        assert rate.sum() * step_s / 8 == pytest.approx(counted.loc[counted["flow"] == flow, "bytes"].sum())
        assert rate.sum() > 0
    waiting = run.table("queues").to_pandas()
    waiting = waiting[waiting["bin"] < bins]
    for link, queue in shown.queue_B.items():
        assert queue.mean() == pytest.approx(waiting.loc[waiting["link"] == link, "mean_B"].sum() / bins)


def test_windows_are_the_last_ones_reported(run: Run) -> None:
    shown = scenes.scenes(run)
    tcp = run.table("tcp").to_pandas()
    for flow, window in shown.cwnd_B.items():
        before = tcp[(tcp["flow"] == flow) & (tcp["t_ns"] <= shown.t_s[-1] * 1e9)]
        assert window[-1] == before["cwnd_B"].iloc[-1]


def test_bars_have_the_colours_of_links_and_no_flow_has_one_of_them(run: Run) -> None:
    stage = film._Stage(scenes.scenes(run))
    bars = {line.get_label(): line.get_color() for line, _ in stage.spans}
    assert bars == stage.link_colors == {link: LINKS[link] for link in ("green", "blue")}
    assert set(stage.scenes.colors.values()) <= set(FLOWS)


@pytest.mark.slow
def test_each_frame_shows_the_past_only(run: Run) -> None:
    content = film.film(run)
    assert len(content) < 600_000
    with Image.open(io.BytesIO(content)) as picture:
        # the first picture is the last frame, for programs that show no animation
        assert picture.n_frames == 1 + scenes.FRAMES
        still = np.asarray(picture.convert("RGB"), dtype=int)
        assert picture.info["loop"] == 0
        frames = []
        for number in (1, 50, 100):
            picture.seek(number)
            frames.append(np.asarray(picture.convert("RGB"), dtype=int))
    assert (still == frames[2]).all()
    # half of the axes, which begin at a tenth of the width; the last quarter is empty until the film gets there
    right = slice(int(frames[0].shape[1] * 0.6), int(frames[0].shape[1] * 0.8))
    lanes = slice(int(frames[0].shape[0] * 0.06), int(frames[0].shape[0] * 0.2))
    colorful = [int((np.ptp(frame[lanes, right], axis=2) > 60).sum()) for frame in frames]
    assert colorful[0] == colorful[1] == 0
    assert colorful[2] > 1000


def test_too_many_flows_and_folded_bins_are_refused(run: Run, two_flows: Scenario) -> None:
    flows = [{"name": f"main{number}", "size": "1 MiB", "path": "green"} for number in range(5)]
    many = Scenario.from_dict({"network": "aykurt", "flows": flows})
    with pytest.raises(InputError, match="at most 4 flows"):
        scenes.scenes(replace(run, scenario=many))
    with pytest.raises(InputError, match="folded"):
        scenes.scenes(replace(run, scenario=two_flows.with_(**{"probes.fold": "100 ms"})))
