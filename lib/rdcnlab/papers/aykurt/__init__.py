import sys

from rdcnlab.papers.lazy import Package

ITEMS = (
    "tab1",
    "fig3",
    "fig4",
    "fig5",
    "fig6a",
    "fig6b",
    "fig7",
    "fig8a",
    "fig8b",
    "fig9",
    "tab2",
    "fig10",
    "fig11",
    "fig13",
    "fig14",
    "fig15",
    "tab3",
    "general",
)
sys.modules[__name__].__class__ = Package
