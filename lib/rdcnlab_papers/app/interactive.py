# SPDX-License-Identifier: Apache-2.0
"""The comparison of an item in which a reader chooses what is drawn, in its notebook: the site's page, in a frame."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from rdcnlab.fields.errors import InputError
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.app.site import view
from rdcnlab_papers.items.item import Item

#: Colours, which on the site are those of its theme.
_COLORS = (
    ":root{color-scheme:light dark;--rl-text:#222;--rl-muted:#666;--rl-line:#ccc;background:#fff;color:#222;"
    "font:14px system-ui,sans-serif}"
    "@media(prefers-color-scheme:dark){:root{--rl-text:#ddd;--rl-muted:#aaa;--rl-line:#555;background:#111;color:#ddd}"
    "#rl-choices select{background:#222}}"
    ".rl-scroll{overflow-x:auto}"
)


@dataclass(frozen=True)
class Page:
    """A page on which a reader chooses what is drawn; a notebook shows it.

    Parameters
    ----------
    html : str
        The page. It fetches nothing.
    title : str
        What it shows.
    height : int
        Height in a notebook, in pixels: that of what is drawn first. The table is below.
    """

    html: str
    title: str
    height: int

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.title)}" sandbox="allow-scripts" '
            f'style="width:100%;height:{self.height}px;box-sizing:border-box;border:1px solid #8884"></iframe>'
        )


def interactive(item: Item, runs: Runs) -> Page:
    """Return the numbers of an item's runs as a page on which a reader chooses networks, workloads, numbers and series.

    Raises
    ------
    InputError
        The item has no such numbers.
    """
    content = item.interactive(runs)
    if content is None:
        raise InputError.of("item", f"{item.paper}/{item.id}", "one that defines the method interactive")
    data = content.data()
    static = resources.files("rdcnlab_papers.app.site") / "static"
    css, script = ((static / name).read_text(encoding="utf-8") for name in ("site.css", "interactive.js"))
    # the text must not end the element
    numbers = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
    body = view.environment().get_template("interactive.html.j2").render(data=data, numbers=numbers)
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(data["title"])}</title>'
        '<meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
        "style-src 'unsafe-inline'\">"
        f"<style>{css}{_COLORS}</style></head><body>{body}<p>{_says(data)}</p><script>{script}</script></body></html>"
    )
    return Page(page, data["title"], _height(data))


def _says(data: dict[str, Any]) -> str:
    """Return what a point is."""
    return (
        "A point is one run."
        if data["seeds"] == 1
        else (f"A point is the mean over {data['seeds']} seeds, a line its 95 % interval.")
    )


def _height(data: dict[str, Any]) -> int:
    """Return the height of the choices and of the rows that are drawn first, in pixels."""
    rows = 1
    for side in data["sides"]:
        rows *= 1 if side["chosen"] in side["values"] else len(side["values"])
    return min(900, 200 + rows * (9 * len(data["series"]) + 8))
