# SPDX-License-Identifier: Apache-2.0
# Written by tools/index from data/papers/vargas.yaml: change that.
"""Vargas et al., "Analyzing DCTCP and Cubic Buffer Sharing under Diverse Router Configurations"."""

import sys
from typing import TYPE_CHECKING

from rdcnlab_papers.items.lazy import Package

if TYPE_CHECKING:
    from rdcnlab_papers.vargas.dataset import Dataset as dataset
    from rdcnlab_papers.vargas.engines import Engines as engines
    from rdcnlab_papers.vargas.fig2 import Fig2 as fig2
    from rdcnlab_papers.vargas.fig3 import Fig3 as fig3
    from rdcnlab_papers.vargas.tab2 import Tab2 as tab2
    from rdcnlab_papers.vargas.tuner import Tuner as tuner

#: All items, in the order of the paper. Each is imported when it is first asked for.
__all__ = [  # noqa: RUF022
    "fig2", "fig3", "engines", "dataset", "tab2", "tuner",
]  # fmt: skip
ITEMS = tuple(__all__)

sys.modules[__name__].__class__ = Package
