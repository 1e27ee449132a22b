# SPDX-License-Identifier: Apache-2.0
"""Execute notebooks for the site, with parameters, and give their pictures alternative texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rdcnlab.app import notebook_file
from rdcnlab_papers.app import notebooks

#: Text for pictures of networks, which are drawn from the scenario.
_NETWORK_ALT = "The network of this notebook with its rates, delays and queues, and its timetable over one cycle"
_WIDGET = "application/vnd.jupyter.widget-view+json"
#: How the text of widgets that are laid out by us begins; that of a progress bar begins with its numbers.
_BOXES = ("HBox(", "VBox(", "GridBox(", "Tab(")
_INTERACTIVE = "*Here are widgets, which need a running kernel: open this notebook in JupyterLab.*"


def execute(source: Path, target: Path, parameters: Mapping[str, Any], alts: Mapping[str, str]) -> None:
    """Execute a notebook and keep it with its outputs.

    Parameters
    ----------
    source, target : Path
        The notebook, and where the executed one is written.
    parameters : dict
        Values for its ``parameters`` cell.
    alts : dict of str to str
        Text for the pictures of cells, by the id of the cell.

    Raises
    ------
    RunError
        A cell failed. The log is the notebook up to this cell.
    """
    notebooks.execute(source, target, parameters)
    prepare(target, alts)


def prepare(path: Path, alts: Mapping[str, str]) -> None:
    """Give the pictures of an executed notebook their texts, and remove metadata about its execution."""
    book = notebook_file.read(path)
    for cell in book["cells"]:
        cell["metadata"].pop("papermill", None)
        if "outputs" in cell:
            cell["outputs"] = [shown for output in cell["outputs"] if (shown := _without_widgets(output)) is not None]
        words = _NETWORK_ALT if cell["id"].endswith(notebooks.NETWORK) else alts.get(cell["id"])
        if words is not None:
            cell["metadata"]["mystnb"] = {"image": {"alt": words}}
    book["metadata"] = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook_file.write(book, path)


def _without_widgets(output: dict[str, Any]) -> dict[str, Any] | None:
    """Return an output for a page without a running kernel: no progress bar, and a note in place of other widgets."""
    data = output.get("data", {})
    if _WIDGET not in data:
        return output
    if not str(data.get("text/plain", "")).startswith(_BOXES):
        return None
    return {"output_type": "display_data", "metadata": {}, "data": {"text/markdown": _INTERACTIVE}}
