# SPDX-License-Identifier: Apache-2.0
"""Execute the notebooks of items, as a reader would, and keep what they drew."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdcnlab import places
from rdcnlab.errors import InputError, RunError
from rdcnlab.items import Item


@dataclass(frozen=True)
class Reproduced:
    """An executed notebook.

    Parameters
    ----------
    notebook : Path
        With its outputs.
    figures : tuple of Path
        The pictures in it, in order.
    rows : list of dict
        The scorecard, as from `Item.rows`.
    """

    notebook: Path
    figures: tuple[Path, ...]
    rows: list[dict[str, Any]]


def reproduce(kind: type[Item], parameters: Mapping[str, Any], output: Path) -> Reproduced:
    """Execute the notebook of an item.

    Parameters
    ----------
    kind : type of Item
        Which.
    parameters : dict
        Values for the notebook's ``parameters`` cell.
    output : Path
        Directory for ``<paper>/<item>.ipynb`` and its pictures.

    Raises
    ------
    InputError
        The notebook has no such parameter, or the item refuses a value.
    RunError
        The notebook failed; the log is the notebook as far as it came.
    """
    import papermill as pm  # takes a second

    source = places.notebooks() / kind.paper / f"{kind.id}.ipynb"
    known = pm.inspect_notebook(source)
    for name, value in parameters.items():
        if name not in known:
            raise InputError.of(f"parameter {name}", value, f"the parameters {', '.join(known)}")
    # Checked here too, before a notebook is started only to find out.
    item = kind(**{name: value for name, value in parameters.items() if name in kind.model_fields})
    target = output / kind.paper / f"{kind.id}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        executed = pm.execute_notebook(
            source, target, parameters=dict(parameters), kernel_name="python3", progress_bar=False, log_output=False
        )
    except pm.PapermillExecutionError as error:
        raise RunError(f"the notebook {kind.paper}/{kind.id} failed: {error.ename}: {error.evalue}", target) from None
    return Reproduced(target, _pictures(executed, target), item.rows(item.stored()))


def _pictures(executed: Any, target: Path) -> tuple[Path, ...]:
    """Write the pictures of a notebook beside it."""
    images = [
        output["data"]["image/png"]
        for cell in executed.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    paths = []
    for number, image in enumerate(images):
        path = target.with_name(f"{target.stem}{f'-{number}' if number else ''}.png")
        path.write_bytes(base64.b64decode(image))
        paths.append(path)
    return tuple(paths)
