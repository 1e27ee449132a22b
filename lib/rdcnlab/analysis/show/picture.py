# SPDX-License-Identifier: Apache-2.0
"""A scenario as one picture: its network, a table of its parts, and its timetables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rdcnlab.analysis.drawing import Drawing
from rdcnlab.analysis.figures import style
from rdcnlab.analysis.palettes import of_links
from rdcnlab.analysis.show import chart, graph, inside, matrix, rows
from rdcnlab.analysis.show.bars import Panel
from rdcnlab.analysis.show.layout import Layout, layout
from rdcnlab.analysis.show.paint import REFERENCE, SMALL, WIDTH, line, sheet, wrap, write
from rdcnlab.analysis.show.spans import panels
from rdcnlab.analysis.show.ways import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Heights in inches: of the title, of a line of the table, and of the space between parts.
_TITLE, _LINE, _APART = 0.34, 0.155, 0.16
#: Headings of the table's columns, and their left edges in inches.
_COLUMNS = {"": 0.15, "rate": 2.6, "delay": 3.4, "queue": 4.2}


def picture(shown: Shown) -> Drawing:
    """Draw a scenario.

    Parameters
    ----------
    shown : Shown
        The scenario to show.

    Examples
    --------
    >>> from rdcnlab.analysis.show.ways import Shown
    >>> float(picture(Shown.preset("tdtcp")).get_size_inches()[0])
    7.4
    """
    with style():
        return _picture(shown)


def _picture(shown: Shown) -> Drawing:
    network = shown.scenario.network
    plan = layout(network, WIDTH) if network.switches else None
    parts = panels(shown)
    table = _table(shown)
    colors = _colors(shown, parts)
    sketch = plan.height if plan is not None else inside.height(shown)
    listed = _LINE * (1 + sum(len(lines) for _, lines in table)) + 0.05
    details = [part for part in parts if part.near]
    cycles = [part for part in parts if not part.near]
    charts = sum(chart.height(part) + _APART for part in [*cycles, *details[:1]])
    notes = 0.16 * sum(part.left_out > 0 for part in parts)
    optical = matrix.height(network) + (_APART if network.optics is not None else 0)
    total = _TITLE + sketch + _APART + listed + _APART + optical + charts + notes
    figure = Drawing(figsize=(WIDTH, total))
    figure.set_layout_engine("none")
    title, summary = shown.title, _summary(shown)
    figure.text(0.15 / WIDTH, 1 - 0.2 / total, title, fontsize=10, weight="bold", va="baseline")
    figure.text(1 - 0.15 / WIDTH, 1 - 0.2 / total, summary, fontsize=SMALL, ha="right", va="baseline", color="#555555")
    _sketch(sheet(figure, _TITLE, sketch, total), shown, plan, colors)
    top = _TITLE + sketch + _APART
    _write(sheet(figure, top, listed, total), table, listed)
    top += listed + _APART
    if network.optics is not None:
        matrix.draw(figure, network, top, total)
        top += optical
    for part in cycles:
        chart.draw(figure, part, colors, top, total)
        top += chart.height(part) + _APART
        if part.left_out:
            text = f"{part.left_out} more rows: rdcnlab show --json has them"
            figure.text(0.15 / WIDTH, 1 - (top - 0.08) / total, text, fontsize=6.5, va="center")
            top += 0.16
    middle = (chart.LABELS + WIDTH) / 2
    for index, part in enumerate(details):
        left, right = ((chart.LABELS, middle - 0.1), (middle + 0.1, WIDTH - chart.RIGHT))[index]
        chart.draw(
            figure, part, colors, top, total, left=left, right=right, labels=not index, legend=index == len(details) - 1
        )
    return figure


def _summary(shown: Shown) -> str:
    network = shown.scenario.network
    counts = {"switch": max(1, len(network.switches)), "link": len(network.links), "host": len(network.machines)}
    words = [
        f"{count} {name}{'' if count == 1 else 'es' if name == 'switch' else 's'}" for name, count in counts.items()
    ]
    if len(network.hosts) > len(network.machines):
        words[-1] += f" with {len(network.hosts)} lines"
    return f"{', '.join(words)}; MTU {network.mtu} B, each frame {network.overhead} B more on the wire"


def _sketch(ax: Axes, shown: Shown, plan: Layout | None, colors: Mapping[str, str]) -> None:
    if plan is None:
        inside.draw(ax, shown, colors)
    else:
        graph.draw(ax, shown, plan, colors)


def _colors(shown: Shown, parts: Sequence[Panel]) -> dict[str, str]:
    """Return colours of the links that bars show. In a network of one switch all links have a colour."""
    network = shown.scenario.network
    used = {
        link
        for part in parts
        if not part.ordered
        for row in part.rows
        for bar in row.bars
        for link in (bar.target, *bar.further)
    }
    return of_links(link.name for link in network.links if link.name in used or not network.switches)


def _table(shown: Shown) -> list[tuple[dict[str, list[str]], range]]:
    """Return the rows of the table: the cells, split into lines, and the range of lines of each row."""
    entries: list[dict[str, str]] = []
    for row in rows.switches(shown):
        if row["acts"] != "in time" or shown.scenario.network.switches:
            acts = "" if row["acts"] == "in time" else f", {row['acts']}"
            entries.append({"": f"{row['switches']}: {row['kind']}{acts}"})
    for row in rows.links(shown):
        entries.append({"": _titled(row["links"], row["between"]), **_cells(row)})
    for row in rows.hosts(shown):
        queues = {"queue": f"{row['queue']}; at the switch {row['port']}"}
        entries.append({"": _titled(row["hosts"], f"at {row['at']}"), **_cells(row), **queues})
    for row in rows.schedules(shown):
        name = f"{'schedules' if ',' in row['schedules'] or '[' in row['schedules'] else 'schedule'} {row['schedules']}"
        entries.append({"": name, "queue": f"{row['queue']}; {row['dark']} in the dark"})
    edges = [*_COLUMNS.values(), WIDTH]
    space = {name: right - left - 0.12 for (name, left), right in zip(_COLUMNS.items(), edges[1:], strict=True)}
    full_width = WIDTH - 0.3  # a row with a single cell uses the whole width
    cells = [
        {name: wrap(text, space[name] if len(row) > 1 else full_width, SMALL) for name, text in row.items()}
        for row in entries
    ]
    return [(row, range(max(len(lines) for lines in row.values()))) for row in cells]


def _titled(name: str, where: str) -> str:
    is_redundant = where in ("inside", "at switch") or name == where.replace(" - ", "-")
    return name if is_redundant else f"{name} ({where})"


def _cells(row: Mapping[str, str]) -> dict[str, str]:
    return {name: row[name] for name in ("rate", "delay", "queue")}


def _write(ax: Axes, table: list[tuple[dict[str, list[str]], range]], height: float) -> None:
    y = height - _LINE / 2
    for name, x in _COLUMNS.items():
        write(ax, x, y, name, SMALL, ha="left", bold=True)
    y -= _LINE
    line(ax, (0.15, WIDTH - 0.15), (y + _LINE / 2, y + _LINE / 2), color=REFERENCE, wide=0.6)
    for row, lines in table:
        for number in lines:
            for name, texts in row.items():
                if number < len(texts):
                    write(ax, _COLUMNS[name], y, texts[number], SMALL, ha="left")
            y -= _LINE


def image(shown: Shown, kind: str) -> bytes:
    """Return a picture in the format `kind`: ``png``, ``svg`` or ``pdf``. The bytes are the same each time."""
    return picture(shown).image(kind)
