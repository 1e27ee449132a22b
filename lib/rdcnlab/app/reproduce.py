# SPDX-License-Identifier: Apache-2.0
"""Execute the notebooks of items as a reader would, and save the figures that they draw."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.papers.item import Item
from rdcnlab.system import places

#: End of the id of a notebook's cell that shows the network.
NETWORK = "-network"


@dataclass(frozen=True)
class Reproduced:
    """An executed notebook.

    Parameters
    ----------
    notebook : Path
        The notebook with its outputs.
    figures : tuple of Path
        The pictures in the notebook, in order.
    rows : list of dict
        The scorecard, as `Item.rows` returns it.
    """

    notebook: Path
    figures: tuple[Path, ...]
    rows: list[dict[str, Any]]


def reproduce(kind: type[Item], parameters: Mapping[str, Any], output: Path, *, progress: bool = True) -> Reproduced:
    """Execute the notebook of an item.

    Parameters
    ----------
    kind : type of Item
        The item.
    parameters : dict
        Values for the notebook's ``parameters`` cell.
    output : Path
        Directory for ``<paper>/<item>.ipynb`` and its pictures.
    progress : bool
        Show a progress bar while scenarios run.

    Raises
    ------
    InputError
        The notebook has no such parameter, or the item refuses a value.
    CampaignError
        Scenarios could not be run.
    RunError
        The notebook failed. The log is the notebook up to the failed cell.
    """
    import papermill as pm  # the import takes a second

    source = places.notebooks() / kind.paper / f"{kind.id}.ipynb"
    known = pm.inspect_notebook(source)
    for name, value in parameters.items():
        if name not in known:
            raise InputError.of(f"parameter {name}", value, f"the parameters {', '.join(known)}")
    item = kind(**{name: value for name, value in parameters.items() if name in kind.model_fields})
    # Missing runs are made here, where progress is visible and Ctrl-C works. The notebook then finds all runs stored.
    runs = item.run(workers=parameters.get("workers"), progress=progress)
    item.explain(workers=parameters.get("workers"), progress=progress)
    target = output / kind.paper / f"{kind.id}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        executed = pm.execute_notebook(
            source,
            target,
            parameters=dict(parameters),
            kernel_name="python3",
            progress_bar=False,
            # the kernel of a notebook warns about its local transport each time, which does not help a reader
            extra_arguments=["--log-level=ERROR"],
        )
    except pm.PapermillExecutionError as error:
        raise RunError(f"the notebook {kind.paper}/{kind.id} failed: {error.ename}: {error.evalue}", target) from None
    return Reproduced(target, _pictures(executed, target), item.rows(runs))


def _pictures(executed: Any, target: Path) -> tuple[Path, ...]:
    """Write the pictures of a notebook beside it. That of the cell ``<item>-network`` has the cell's name."""
    paths: list[Path] = []
    figures = 0
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            image = output.get("data", {}).get("image/png")
            if image is None:
                continue
            name = f"{target.stem}{f'-{figures}' if figures else ''}"
            if cell.id.endswith(NETWORK):
                name = cell.id
            else:
                figures += 1
            paths.append(target.with_name(f"{name}.png"))
            paths[-1].write_bytes(base64.b64decode(image))
    return tuple(paths)
