# SPDX-License-Identifier: Apache-2.0
# Written by tools/index from data/papers/aykurt.yaml: change that.
"""Aykurt et al., "When TCP Meets Reconfigurations - A Comprehensive Measurement Study"."""

import sys
from typing import TYPE_CHECKING

from rdcnlab_papers.items.lazy import Package

if TYPE_CHECKING:
    from rdcnlab_papers.aykurt.buffer import Buffer as buffer
    from rdcnlab_papers.aykurt.discards import Discards as discards
    from rdcnlab_papers.aykurt.fig3 import Fig3 as fig3
    from rdcnlab_papers.aykurt.fig4 import Fig4 as fig4
    from rdcnlab_papers.aykurt.fig5 import Fig5 as fig5
    from rdcnlab_papers.aykurt.fig6a import Fig6a as fig6a
    from rdcnlab_papers.aykurt.fig6b import Fig6b as fig6b
    from rdcnlab_papers.aykurt.fig7 import Fig7 as fig7
    from rdcnlab_papers.aykurt.fig8a import Fig8a as fig8a
    from rdcnlab_papers.aykurt.fig8b import Fig8b as fig8b
    from rdcnlab_papers.aykurt.fig9 import Fig9 as fig9
    from rdcnlab_papers.aykurt.fig10 import Fig10 as fig10
    from rdcnlab_papers.aykurt.fig11 import Fig11 as fig11
    from rdcnlab_papers.aykurt.fig13 import Fig13 as fig13
    from rdcnlab_papers.aykurt.fig14 import Fig14 as fig14
    from rdcnlab_papers.aykurt.fig15 import Fig15 as fig15
    from rdcnlab_papers.aykurt.general import General as general
    from rdcnlab_papers.aykurt.moderation import Moderation as moderation
    from rdcnlab_papers.aykurt.nights import Nights as nights
    from rdcnlab_papers.aykurt.offloads import Offloads as offloads
    from rdcnlab_papers.aykurt.tab1 import Tab1 as tab1
    from rdcnlab_papers.aykurt.tab2 import Tab2 as tab2
    from rdcnlab_papers.aykurt.tab3 import Tab3 as tab3

#: All items, in the order of the paper. Each is imported when it is first asked for.
__all__ = [  # noqa: RUF022
    "tab1", "fig3", "fig4", "fig5", "fig6a", "fig6b", "fig7", "fig8a", "fig8b", "fig9", "tab2", "fig10", "fig11",
    "fig13", "fig14", "fig15", "tab3", "general", "buffer", "discards", "nights", "offloads", "moderation",
]  # fmt: skip
ITEMS = tuple(__all__)

sys.modules[__name__].__class__ = Package
