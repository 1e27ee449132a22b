# SPDX-License-Identifier: Apache-2.0
"""Execute notebooks with papermill, and check their parameters before."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.papers.item import Item
from rdcnlab.system import places

#: End of the id of a notebook's cell that shows the network.
NETWORK = "-network"


def path(kind: type[Item]) -> Path:
    """Return the path of an item's notebook."""
    return places.notebooks() / kind.paper / f"{kind.id}.ipynb"


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
        Cells that are added at its end; see `code_cell`.

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


def read(source: Path) -> dict[str, Any]:
    """Read a notebook as plain data."""
    book: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return book


def text(book: Mapping[str, Any]) -> str:
    """Return a notebook as text, as Jupyter writes it."""
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def write(book: Mapping[str, Any], target: Path) -> None:
    """Write a notebook."""
    target.write_text(text(book), encoding="utf-8")


def text_cell(identifier: str, source: str) -> dict[str, Any]:
    """Return a cell of Markdown."""
    return {"cell_type": "markdown", "id": identifier, "metadata": {}, "source": source}


def code_cell(identifier: str, source: str) -> dict[str, Any]:
    """Return a cell of Python that has not been executed."""
    cell = text_cell(identifier, source)
    return {**cell, "cell_type": "code", "execution_count": None, "outputs": []}


def book(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a notebook of some cells."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": [*cells], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
