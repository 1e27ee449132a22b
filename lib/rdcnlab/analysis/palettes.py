# SPDX-License-Identifier: Apache-2.0
"""The colours of flows and of links: two fixed lists without a common colour, for all pictures of a run or a network.

All of them can be seen on white and on a dark page. With red-green blindness, too, each colour of a flow differs from
each of a link; flows have strong colours, links have muted ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rdcnlab.analysis import tables
from rdcnlab.analysis.figures import LOOKS
from rdcnlab.scenario import BYPASS, DARK

#: Colours of flows: those of Okabe and Ito without yellow, which is not seen on white, then one of Tol, and brown.
FLOWS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8B5A2B", "#999933")
#: Colours of links by their names. A link that has one of these names has this colour.
LINKS = {
    "blue": "#6E9BFB", "orange": "#F3AE7D", "green": "#5D8847", "red": "#D8707A", "purple": "#9884CB",
    "cyan": "#3DCCDF", "sand": "#C29E61", "slate": "#587896", "mint": "#82CB96", "plum": "#9F5D72",
    "indigo": "#6277D9", "mauve": "#CEB4CD",
}  # fmt: skip
#: Colours of losses, retransmissions and ECN marks, which can be seen on white and on black.
LOST, AGAIN, MARKED = "#E04040", "#3F8FD0", "#E69F00"
#: The colours of what has none, and of a night in a timetable.
FAINT, NIGHT = "#DDDDDD", "#EEEEEE"


def of_flows(controls: Mapping[str, str | None]) -> dict[str, str]:
    """Return a colour of `FLOWS` for each flow. With more flows than colours, several flows have the same.

    A flow has the colour that its name, its role or its congestion control has in all figures, unless two flows would
    have the same; then each flow has the next colour.

    Parameters
    ----------
    controls : mapping of str to str or None
        The congestion control of each flow by the flow's name.

    Examples
    --------
    >>> of_flows({"main": "cubic", "migrated": "cubic"})
    {'main': '#0072B2', 'migrated': '#D55E00'}
    """
    usual = {}
    for flow, control in controls.items():
        known = [LOOKS[name].color for name in (flow, tables.role(flow), control) if name in LOOKS]
        if known and known[0] in FLOWS:
            usual[flow] = known[0]
    if len(set(usual.values())) < len(usual):
        usual = {}
    free = [color for color in FLOWS if color not in usual.values()] or FLOWS
    others = (flow for flow in controls if flow not in usual)
    usual |= {flow: free[index % len(free)] for index, flow in enumerate(others)}
    return {flow: usual[flow] for flow in controls}


def of_links(links: Iterable[str]) -> dict[str, str]:
    """Return a different colour for each link; if there are more links than colours, none of them gets one.

    Examples
    --------
    >>> of_links(["spine1", "green"])
    {'green': '#5D8847', 'spine1': '#6E9BFB', 'bypass': '#DDDDDD', 'dark': 'white'}
    """
    names = list(links)
    plain = {BYPASS: FAINT, DARK: "white"}
    if len(names) > len(LINKS):
        return plain
    named = {link: LINKS[link] for link in names if link in LINKS}
    free = (color for color in LINKS.values() if color not in named.values())
    return named | {link: next(free) for link in names if link not in named} | plain
