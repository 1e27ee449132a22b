# SPDX-License-Identifier: Apache-2.0
# Written by tools/index from data/papers/tdtcp.yaml: change that.
"""Chen et al., "Time-division TCP for Reconfigurable Data Center Networks"."""

import sys
from typing import TYPE_CHECKING

from rdcnlab_papers.items.lazy import Package

if TYPE_CHECKING:
    from rdcnlab_papers.tdtcp.architectures import Architectures as architectures
    from rdcnlab_papers.tdtcp.fairness import Fairness as fairness
    from rdcnlab_papers.tdtcp.fig2 import Fig2 as fig2
    from rdcnlab_papers.tdtcp.fig7a import Fig7a as fig7a
    from rdcnlab_papers.tdtcp.fig7b import Fig7b as fig7b
    from rdcnlab_papers.tdtcp.fig8a import Fig8a as fig8a
    from rdcnlab_papers.tdtcp.fig8b import Fig8b as fig8b
    from rdcnlab_papers.tdtcp.fig9 import Fig9 as fig9
    from rdcnlab_papers.tdtcp.fig10a import Fig10a as fig10a
    from rdcnlab_papers.tdtcp.fig10b import Fig10b as fig10b
    from rdcnlab_papers.tdtcp.fig11 import Fig11 as fig11
    from rdcnlab_papers.tdtcp.fig13 import Fig13 as fig13
    from rdcnlab_papers.tdtcp.fig14 import Fig14 as fig14
    from rdcnlab_papers.tdtcp.five import Five as five
    from rdcnlab_papers.tdtcp.inside import Inside as inside
    from rdcnlab_papers.tdtcp.late import Late as late
    from rdcnlab_papers.tdtcp.networks import Networks as networks
    from rdcnlab_papers.tdtcp.notices import Notices as notices
    from rdcnlab_papers.tdtcp.rankings import Rankings as rankings
    from rdcnlab_papers.tdtcp.slices import Slices as slices
    from rdcnlab_papers.tdtcp.testbeds import Testbeds as testbeds

#: All items, in the order of the paper. Each is imported when it is first asked for.
__all__ = [  # noqa: RUF022
    "fig2", "fig7a", "fig7b", "fig8a", "fig8b", "fig9", "fig10a", "fig10b", "fig11", "fig13", "fig14", "testbeds",
    "inside", "networks", "fairness", "architectures", "notices", "slices", "rankings", "five", "late",
]  # fmt: skip
ITEMS = tuple(__all__)

sys.modules[__name__].__class__ = Package
