# SPDX-License-Identifier: Apache-2.0
"""Find a run by the name that a user gives it: an id, the begin of an id, or the file of its scenario."""

from __future__ import annotations

import re
from pathlib import Path

from rdcnlab.engines import SCHEMAS
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.files import is_file, is_there
from rdcnlab.runs.campaign import campaign, lookup
from rdcnlab.runs.parts import WHOLE, Part
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario

#: Shortest begin of an id that names a run.
SHORTEST = 4
#: Digits of an id that are printed: enough for millions of runs.
PRINTED = 12
#: What a command says about its argument RUN.
HELP = f"A run: its id, the first {SHORTEST} or more digits of its id, or the file of its scenario."


def find(name: str, store: Store) -> Run:
    """Return a stored run by its id or the begin of its id, or the run of a scenario file.

    A scenario is run if it has no stored run, or only a shipped one, which lacks some tables.

    Parameters
    ----------
    name : str
        At least four hexadecimal digits of an id, or the path of a scenario file.
    store : Store
        The store with local and shipped runs. A local run is preferred.

    Raises
    ------
    CampaignError
        The scenario could not be run.
    InputError
        There is no such run, or several; or the file has no valid scenario.
    """
    if not re.fullmatch(rf"[0-9a-fA-F]{{{SHORTEST},64}}", name) or is_file(name):
        if re.fullmatch(r"[0-9a-fA-F]{1,3}", name) and not is_file(name):
            raise InputError.of("RUN", name, reason=f'"{name}" is too short: at least {SHORTEST} digits of an id')
        if not Path(name).suffix and not is_there(name):
            hint = "ids have only the digits 0-9 and a-f; `rdcnlab runs` lists them, a scenario's file ends with .yaml"
            raise InputError.of("RUN", name, reason=f'"{name}" is no id of a run, and no file: {hint}')
        (run,) = campaign([Scenario.load(name)], store=store, needs=_whole)
        return run
    digits = name.lower()
    local = [identifier for identifier in store.ids() if identifier.startswith(digits)]
    runs = [run for run in map(store.get, local) if run is not None]
    rows = [row for row in store.shipped if row.id.startswith(digits)] if not runs else []
    runs += [Run(row.id, Scenario.from_dict(row.data), row.provenance, row.digests, row) for row in rows]
    if not runs:
        raise InputError.of("RUN", name, reason=f'no stored run has an id that begins with "{name}"; see rdcnlab runs')
    if len(runs) > 1:
        ids = ", ".join(run.id[:PRINTED] for run in runs[:3]) + (", ..." if len(runs) > 3 else "")
        raise InputError.of("RUN", name, reason=f'{len(runs)} runs begin with "{name}": {ids}; give more digits')
    return runs[0]


def find_seeds(name: str, store: Store) -> list[Run]:
    """Return the runs that a name stands for in a comparison: of a file, the stored runs of its scenario by all seeds.

    Parameters and errors are those of `find`, which returns the run if there is no stored one.
    """
    if not is_file(name):
        return [find(name, store)]
    scenario = Scenario.load(name)
    seeds = store.seeds(scenario)
    stored = lookup([scenario.with_(seed=seed) for seed in seeds], store, _whole)
    return [run for run in stored if run is not None] or [find(name, store)]


def _whole(_: Scenario) -> dict[str, Part]:
    return dict.fromkeys(SCHEMAS, WHOLE)
