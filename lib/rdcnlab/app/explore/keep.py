# SPDX-License-Identifier: Apache-2.0
"""Write what was explored to files: a scenario as YAML, and a notebook that goes on from it."""

from __future__ import annotations

import itertools
from pathlib import Path

from rdcnlab.app import notebook_file
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario


def save(scenario: Scenario, name: str) -> Path:
    """Write a scenario as YAML, and return the file.

    Raises
    ------
    InputError
        The name is not that of a new file ``*.yaml`` in a directory that exists.
    """
    path = _new(name, ".yaml")
    path.write_text(scenario.dump(), encoding="utf-8")
    return path


def save_notebook(scenario: Scenario, title: str, runs: int, name: str) -> Path:
    """Write a scenario and a notebook that runs and draws it, and return the notebook.

    Parameters
    ----------
    scenario : Scenario
        The scenario of the first run.
    title : str
        Title of the notebook.
    runs : int
        Number of seeds.
    name : str
        Name of the scenario's file, ``*.yaml``; the notebook is beside it.

    Raises
    ------
    InputError
        One of the files exists, or cannot be written.
    """
    target = _new(str(Path(name).with_suffix(".ipynb")), ".ipynb")
    if not Path(name).exists() or Scenario.load(name) != scenario:
        save(scenario, name)
    file = Path(name).name
    cells = [
        notebook_file.text_cell("title", f"# {title}\n\nThe scenario is in `{file}`. `base.with_(...)` changes it."),
        notebook_file.code_cell(
            "scenario", f'from rdcnlab import Scenario, campaign\n\nbase = Scenario.load("{file}")\nbase'
        ),
        notebook_file.code_cell("run", f"runs = campaign(base.with_(seed=seed) for seed in range({runs}))"),
        notebook_file.code_cell("figure", "from rdcnlab.app.explore.curves import curves\n\ncurves(runs)"),
        notebook_file.code_cell("flows", 'runs.flows[["seed", "flow", "cc", "received_B", "retransmits"]]'),
    ]
    notebook_file.write(notebook_file.book(cells), target)
    return target


def _new(name: str, suffix: str) -> Path:
    path = Path(name)
    if path.suffix != suffix or not path.parent.is_dir():
        raise InputError.of("file", name, f"the name of a file that ends in {suffix}, in a directory that exists")
    if path.exists():
        raise InputError.of("file", name, f"a file that does not exist yet, such as {_free(path).name}")
    return path


def _free(path: Path) -> Path:
    """Return a path like this one with a number, for which there is no file."""
    beside = (path.with_stem(f"{path.stem}-{number}") for number in itertools.count(2))
    return next(candidate for candidate in beside if not candidate.exists())
