# SPDX-License-Identifier: Apache-2.0
"""Run scenarios with a small jitter, and say which of their numbers depend on the phase between senders."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from rdcnlab.app.cli.tools import say, show
from rdcnlab.fields.units import DURATION
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs

#: Most numbers that are printed; ``--json`` has all.
_MOST = 20


def check(runs: Runs, *, as_json: bool, **options: Any) -> None:
    """Run the scenarios of runs with a jitter on the cables of senders, and print the numbers that change.

    Parameters
    ----------
    runs : Runs
        Runs without jitter.
    as_json : bool
        Print all numbers as data.
    **options
        As for `rdcnlab.runs.campaign.campaign`.
    """
    # imported here because it loads pandas, which help does without
    from rdcnlab.analysis.results import phase

    scenarios = [phase.jittered(run.scenario) for run in runs]
    changed = campaign(scenarios, progress=sys.stderr.isatty(), hints=False, **options)
    table = phase.compared(runs, changed)
    if as_json:
        show(json.loads(table.to_json(orient="records")), as_json)
        return
    jitter = DURATION.format(phase.jitter_ns(runs[0].scenario))
    differing = table[table["changes"]].drop(columns="changes")
    typer.echo("")
    if len(differing):
        title = f"with a jitter of {jitter} on the cables of senders"
        show(json.loads(differing.head(_MOST).to_json(orient="records")), False, title)
    more = f" ({len(differing) - _MOST} are not shown; --json has all)" if len(differing) > _MOST else ""
    flows = list(dict.fromkeys(differing["flow"]))
    named = ", ".join(map(str, flows[:6])) + (" ..." if len(flows) > 6 else "")
    which = f": those of {named} depend on the phase between senders, or on chance" if flows else ""
    say(f"{len(differing)} of {len(table)} numbers change by more than {phase.CHANGES:.0%} with jitter{which}{more}.")
