# SPDX-License-Identifier: Apache-2.0
# Written by tools/index from data/papers/carpa.yaml: change that.
"""Carpa et al., "Evaluating the Impact of SDN-Induced Frequent Route Changes on TCP Flows"."""

import sys
from typing import TYPE_CHECKING

from rdcnlab_papers.items.lazy import Package

if TYPE_CHECKING:
    from rdcnlab_papers.carpa.cost import Cost as cost
    from rdcnlab_papers.carpa.difference import Difference as difference
    from rdcnlab_papers.carpa.fig2 import Fig2 as fig2
    from rdcnlab_papers.carpa.fig3 import Fig3 as fig3
    from rdcnlab_papers.carpa.fig4 import Fig4 as fig4
    from rdcnlab_papers.carpa.fig6 import Fig6 as fig6
    from rdcnlab_papers.carpa.fig7 import Fig7 as fig7
    from rdcnlab_papers.carpa.fig8 import Fig8 as fig8
    from rdcnlab_papers.carpa.fig9 import Fig9 as fig9
    from rdcnlab_papers.carpa.fig10 import Fig10 as fig10
    from rdcnlab_papers.carpa.fig11 import Fig11 as fig11
    from rdcnlab_papers.carpa.tab1 import Tab1 as tab1

#: All items, in the order of the paper. Each is imported when it is first asked for.
__all__ = [  # noqa: RUF022
    "tab1", "fig2", "fig3", "fig4", "fig6", "fig7", "fig8", "fig9", "fig10", "fig11", "difference", "cost",
]  # fmt: skip
ITEMS = tuple(__all__)

sys.modules[__name__].__class__ = Package
