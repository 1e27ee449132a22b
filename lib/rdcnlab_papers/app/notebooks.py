# SPDX-License-Identifier: Apache-2.0
"""Execute notebooks with papermill, and check their parameters before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rdcnlab.app.notebook_file import read, write
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab_papers.items import folders
from rdcnlab_papers.items.item import Item

#: End of the id of a notebook's cell that shows the network.
NETWORK = "-network"


def path(kind: type[Item]) -> Path:
    """Return the path of an item's notebook."""
    return folders.notebook(kind.paper, kind.id)


def check(kinds: Iterable[type[Item]], parameters: Mapping[str, Any]) -> None:
    """Check that all notebooks have all parameters, and that the items accept their values.

    Raises
    ------
    InputError
        A notebook lacks a parameter, or an item refuses a value.
    """
    import papermill as pm  # the import takes a second

    for kind in kinds:
        names = pm.inspect_notebook(path(kind))
        for name, value in parameters.items():
            if name not in names:
                field = f"parameter {name} of {kind.paper}/{kind.id}"
                raise InputError.unknown(field, value, names, "parameter")
        kind(**of_item(kind, parameters))


def of_item(kind: type[Item], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a notebook that are parameters of its item."""
    return {name: value for name, value in parameters.items() if name in kind.model_fields}


def execute(source: Path, target: Path, parameters: Mapping[str, Any], more: Sequence[Mapping[str, Any]] = ()) -> Any:
    """Execute a notebook.

    Parameters
    ----------
    source, target : Path
        The notebook, and where the executed one is written. It appears there when all cells have been executed.
    parameters : dict
        Values for its ``parameters`` cell.
    more : sequence of dict
        Cells that are added at its end; see `rdcnlab.app.notebook_file.code_cell`.

    Returns
    -------
    NotebookNode
        The executed notebook.

    Raises
    ------
    RunError
        A cell failed, and the log is the notebook up to this cell, ``<name>.failed.ipynb``; or the kernel has ended.
    """
    import papermill as pm
    from nbclient.exceptions import DeadKernelError

    from rdcnlab.app.warm import WarmKernelManager

    target.parent.mkdir(parents=True, exist_ok=True)
    part, failed = (target.with_name(f"{target.stem}.{end}.ipynb") for end in ("part", "failed"))
    begun = read(source)
    write({**begun, "cells": [*begun["cells"], *more]}, part)
    try:
        executed = pm.execute_notebook(
            part,
            part,
            parameters=dict(parameters),
            kernel_name="python3",
            kernel_manager_class=WarmKernelManager,
            progress_bar=False,
            # the kernel of a notebook warns about its local transport at each start; readers do not need this
            extra_arguments=["--log-level=ERROR"],
        )
    except DeadKernelError:
        name = f"{source.parent.name}/{source.stem}"
        raise RunError(f"the notebook {name} failed: its kernel has ended, perhaps for lack of memory", part) from None
    except pm.PapermillExecutionError as error:
        part.rename(failed)
        name = f"{source.parent.name}/{source.stem}"
        raise RunError(f"the notebook {name} failed: {error.ename}: {error.evalue}", failed) from None
    part.rename(target)
    failed.unlink(missing_ok=True)
    return executed
