# SPDX-License-Identifier: Apache-2.0
"""Rows of bars above the panels of a run: one for each timetable, or for each program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Characters of a name beside its row.
_NAME = 14


def name_rows(ax: Axes, names: Iterable[str], more: int) -> None:
    """Write a name beside each row, from the top down, and in a last row how many more there are."""
    labels = [name if len(name) <= _NAME else f"{name[: _NAME - 2]}…" for name in names]
    labels += [f"and {more} more"] * (more > 0)
    ax.set(ylim=(len(labels) - 0.4, -0.6), yticks=range(len(labels)))
    ax.set_yticklabels(labels, fontsize=7)
    ax.tick_params(axis="both", length=0)
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
