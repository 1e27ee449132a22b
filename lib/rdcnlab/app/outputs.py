# SPDX-License-Identifier: Apache-2.0
"""Outputs in the form in which notebooks store them, to set them in an ``ipywidgets.Output``.

They are set, and not captured with ``with output:``. While a cell runs, nbclient answers each captured output on the
channel on which it waits for the cell's reply. It may then wait for ever (jupyter/nbclient issue 312).
"""

from __future__ import annotations

from typing import Any

import pandas as pd

#: An output as a notebook stores it.
Stored = dict[str, Any]


def text(words: str) -> Stored:
    """Return printed text."""
    return {"output_type": "stream", "name": "stdout", "text": f"{words}\n"}


def table(rows: pd.DataFrame) -> Stored:
    """Return a table as HTML, and as text for readers without it."""
    return display({"text/html": rows.to_html(), "text/plain": rows.to_string()})


def display(data: dict[str, str]) -> Stored:
    """Return displayed data by media type."""
    return {"output_type": "display_data", "data": data, "metadata": {}}
