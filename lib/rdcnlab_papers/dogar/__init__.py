# SPDX-License-Identifier: Apache-2.0
# Written by tools/index from data/papers/dogar.yaml: change that.
"""Dogar et al., "Resilient TCP Variant Enabling Smooth Network Updates for Software-Defined Data Center Networks"."""

import sys
from typing import TYPE_CHECKING

from rdcnlab_papers.items.lazy import Package

if TYPE_CHECKING:
    from rdcnlab_papers.dogar.breaks import Breaks as breaks
    from rdcnlab_papers.dogar.eq5 import Eq5 as eq5
    from rdcnlab_papers.dogar.failures import Failures as failures
    from rdcnlab_papers.dogar.fig2 import Fig2 as fig2
    from rdcnlab_papers.dogar.fig3 import Fig3 as fig3
    from rdcnlab_papers.dogar.fig4 import Fig4 as fig4
    from rdcnlab_papers.dogar.fig5 import Fig5 as fig5
    from rdcnlab_papers.dogar.fig6 import Fig6 as fig6
    from rdcnlab_papers.dogar.fig7 import Fig7 as fig7
    from rdcnlab_papers.dogar.fig8 import Fig8 as fig8
    from rdcnlab_papers.dogar.fig9 import Fig9 as fig9
    from rdcnlab_papers.dogar.fig10 import Fig10 as fig10
    from rdcnlab_papers.dogar.fig11 import Fig11 as fig11
    from rdcnlab_papers.dogar.fig12 import Fig12 as fig12
    from rdcnlab_papers.dogar.fig13 import Fig13 as fig13
    from rdcnlab_papers.dogar.fig15 import Fig15 as fig15
    from rdcnlab_papers.dogar.fig16 import Fig16 as fig16
    from rdcnlab_papers.dogar.fig17 import Fig17 as fig17
    from rdcnlab_papers.dogar.fig18 import Fig18 as fig18
    from rdcnlab_papers.dogar.fig19 import Fig19 as fig19
    from rdcnlab_papers.dogar.fig20 import Fig20 as fig20
    from rdcnlab_papers.dogar.inputs import Inputs as inputs
    from rdcnlab_papers.dogar.readings import Readings as readings
    from rdcnlab_papers.dogar.tab3 import Tab3 as tab3

#: All items, in the order of the paper. Each is imported when it is first asked for.
__all__ = [  # noqa: RUF022
    "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8", "fig9", "fig10", "fig11", "fig12", "fig13", "eq5",
    "fig15", "fig16", "fig17", "fig18", "fig19", "fig20", "tab3", "failures", "inputs", "breaks", "readings",
]  # fmt: skip
ITEMS = tuple(__all__)

sys.modules[__name__].__class__ = Package
