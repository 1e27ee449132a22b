# SPDX-License-Identifier: Apache-2.0
"""Files of notebooks as plain data: read, write, and make their cells."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


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
