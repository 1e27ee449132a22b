# SPDX-License-Identifier: Apache-2.0
"""Pages of findings say what the shipped runs and records give."""

from __future__ import annotations

import importlib
import json
import re

import pytest

from rdcnlab.analysis.intervals import Estimate
from rdcnlab_papers import aykurt, tdtcp, vargas
from rdcnlab_papers.analysis import weeks
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.models import buffers_records, fct, held_out
from tests.test_documents import ROOT, assert_says, in_one_line

FINDINGS = ROOT / "docs" / "findings"


def numbers(measured: Measured, case: str = "") -> tuple[float, float, float]:
    value = measured.cases[case]
    assert isinstance(value, Estimate)
    return float(value), value.low, value.high


@pytest.mark.slow
def test_the_page_on_cards_that_wait() -> None:
    moderation = importlib.import_module("rdcnlab_papers.aykurt.moderation")
    item = aykurt.moderation(profile="paper")
    runs = item.stored_runs()
    assert runs is not None
    text, measured, rates = in_one_line(FINDINGS / "bbr-behind-cards.md"), item.measure(runs), item.rates(runs)
    assert_says(text, "it has # Gb/s (# to #) until it first meets CUBIC", *numbers(measured["before"]))
    assert_says(text, "and # Gb/s (# to #) after CUBIC has ended", *numbers(measured["after"]))
    means = (numbers(measured[claim])[0] for claim in ("before", "after"))
    assert_says(in_one_line(ROOT / "README.md"), "# Gb/s until it meets CUBIC, # Gb/s after CUBIC has gone", *means)
    ends = [float(measured[claim].cases[""]) for claim in ("after-allowed", "after-new")]
    assert_says(text, "or with Linux 6.12, it has # and #.", *ends)
    old = rates[(rates["kernel"] == "as Linux 4.15") & (rates["base_rtt_us"] == 42)]
    for wait in (100, 125, 150, 200):
        after, form = old.loc[old["wait_us"] == wait, "after_gbps"], moderation.three_bursts(wait)
        values = (form, after.mean(), after.min(), after.max(), after.mean() / form)
        assert_says(text, f"| {wait} us | # | # (# to #) | # |", *values)
    audited = old.loc[old["wait_us"] == 150, "after_gbps"] / moderation.three_bursts(150)
    slow = sorted(audited * moderation.three_bursts(150))[:-1]
    assert_says(text, "of 30 seeds # have # to #, one recovers", len(slow), slow[0], slow[-1])
    assert_says(text, "**# of the 30 seeds at 150 us have the number", int((abs(audited - 1) < 0.001).sum()))
    short = old.loc[old["wait_us"] == 125, "after_gbps"] / moderation.three_bursts(125)
    assert list(short) == pytest.approx([8 / 9] * 3, abs=1e-3)


@pytest.mark.slow
def test_the_page_on_offloads() -> None:
    item = aykurt.offloads(profile="paper")
    runs = item.stored_runs()
    assert runs is not None
    assert len(runs) == 234
    text, rows, measured = in_one_line(FINDINGS / "offloads.md"), item.times(runs), item.measure(runs)
    of_stacks, of_days = text.replace("**", "").split("## Over the paper's days")
    for (day, stack), of_stack in rows.groupby(["day_ms", "stack"]):
        seconds, timeouts = (of_stack.groupby("cc")[column] for column in ("fct_s", "timeouts"))
        parts = zip(seconds.mean(), seconds.min(), seconds.max(), timeouts.mean(), strict=True)
        row = f"{stack} | {' | '.join(['# (# to #); #'] * seconds.ngroups)} |"
        values = [value for part in parts for value in part]
        if day == rows["day_ms"].min():
            assert_says(of_stacks, f"| {row}", *values)
        if stack in ("as Linux 4.15", "as Linux 4.15, TSO"):
            assert_says(of_days, f"| {day:g} ms | {row}", *values)
    costs = [number for cc in ("cubic", "reno", "westwood") for number in numbers(measured["timeouts-cost"], cc)]
    assert_says(text, "(CUBIC #, # to #; Reno #, # to #; Westwood #, # to #)", *costs)
    assert_says(text, "CUBIC's factor is # (# to #) where two", *numbers(measured["tso-costs"], "cubic"))
    longest = {day: of_day.groupby("cc")["prolongation_s"].max() for day, of_day in
               rows[rows["stack"] == "as Linux 4.15, TSO"].groupby("day_ms")}  # fmt: skip
    assert_says(text, "are # s (CUBIC), # s (Reno) and # s (Westwood) at 9 ms", *longest[9.0])
    assert_says(text, "and # to # s at 90 ms", *sorted(longest[90.0])[::2])


@pytest.mark.slow
def test_the_page_on_late_notifications() -> None:
    item = tdtcp.late(profile="paper")
    runs = item.stored_runs()
    assert runs is not None
    assert len(runs) == 297
    text, measured, rows = in_one_line(FINDINGS / "late.md").replace("**", ""), item.measure(runs), item.table(runs)
    for rtt in item.rtts_us:
        predicted = sum(case.delay_ns for case in item.steps[f"artefact, RTT {rtt} us"]) / 2e3
        more = numbers(measured["step"], f"artefact, RTT {rtt} us")
        assert_says(text, f"| {rtt} us | # us | # (# to #) |", predicted, *more)
        if f"artefact, RTT {rtt} us" in measured["falls"].cases:
            fallen = numbers(measured["falls"], f"artefact, RTT {rtt} us")
            assert_says(text, f"(# to #) | # (# to #) | | {rtt + 10} us", *more[1:], *fallen)
    moved = numbers(measured["moves-with-night"], "short night, its step")
    assert_says(text, "at 28.722 us: # (# to #). Where", *moved)
    former = numbers(measured["not-where-it-was"], "short night, former step")
    assert_says(text, "nothing is left: # (# to #)", *former)
    elsewhere = [float(number) for number in measured["no-step"].cases.values()]
    assert_says(text, "at any of the five instants: # to #", min(elsewhere), max(elsewhere))
    of_figure = rows[rows["rtt_us"] == 0].groupby(["testbed", "kind", "delay_us"])["gbps"].mean()
    for bed in ("artefact", "text"):
        gains = [100 * (of_figure[bed, "tdtcp", delay] / of_figure[bed, "cubic", 0] - 1) for delay in range(0, 70, 10)]
        assert_says(text, f"| testbed of the {bed} |" + " # |" * 7, *gains)
    gained = [number for bed in ("artefact", "text") for number in numbers(measured["gain-at-60"], bed)]
    assert_says(text, "The last column has intervals: # (# to #) and # (# to #).", *gained)
    assert weeks.first_held(item.case(item.cases[0]), "circuit", back="reverse") == 28_722


@pytest.mark.slow
def test_the_page_on_how_models_are_evaluated() -> None:
    text = in_one_line(FINDINGS / "evaluation.md")
    runs = aykurt.fig15(profile="paper").stored_runs()
    assert runs is not None
    data = fct.dataset(runs)
    record = held_out.record(data)
    table, pairs = fct.by_table(data), fct.by_table(data, ("migrated", "main"), "times")
    assert record.times is not None
    values = (record.runs.r2, table.r2, fct.explainable(data), -record.times.r2, -pairs.r2)
    sentence = "R2 # | a table of the mean of each scenario: #. Of the variance # can be explained at all. A day and a"
    assert_says(text, f"{sentence} night held out: **-#**, a table of pairs -#", *values)
    errors = {case: float(number) for case, number in held_out.errors_by_night(data).cases.items()}
    nights = ("without a night", "with one")
    without, dark = ([errors[f"{night}, {model}"] for model in ("forest", "table")] for night in nights)
    assert_says(text, "it carries over (mean squared error # s², a table of pairs # s²)", *without)
    assert_says(text, "it does not (# s², table # s²)", *dark)
    scores = json.loads((ROOT / "data" / "scores.json").read_text())
    network, trees = re.findall(r"[\d.]+(?= %)", scores["aykurt/tab3/6.12/over-forest"][1])
    sentence = "| 93.3 % | # % | a forest of 300 trees over means, ends and steps of window and RTT: **# %**"
    assert_says(text, sentence, float(network), float(trees))
    models = vargas.tab2(profile="paper")
    of_models = models.stored_runs()
    assert of_models is not None
    measured = models.measure(of_models)
    for kind, where in (("deep", "a condition (rate and RTT) held out"), ("shallow", "a condition held out")):
        stated = float(measured[f"r2-{kind}-several-no-drops"].cases[""])
        assert_says(text, f"| R2 # | {where}: **#** (# to #)", stated, *numbers(measured[f"left-out-{kind}"]))
    left_out = buffers_records.read(models.records(of_models)["left out"]).groupby("case")["later"].mean()
    for kind, words in (("deep", "deep model of the paper"), ("fluid", "fluid model, not trained")):
        assert_says(text, f"| {words} | # | # |", left_out[kind], left_out[f"{kind}-no-drops"])
    more = measured["left-out-carried"]
    mean, low, high = numbers(more, "without drops")
    ours = (left_out["carried"], *numbers(more, "all outcomes"), left_out["carried-no-drops"], mean, -low, high)
    assert_says(text, "| ours | **#**, +# (# to #) | #, +# (-# to #): undecided |", *ours)
