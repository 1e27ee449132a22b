import sys

from rdcnlab.papers.lazy import Package

ITEMS = (
    "fig2",
    "fig7a",
    "fig7b",
    "fig8a",
    "fig8b",
    "fig9",
    "fig10a",
    "fig10b",
    "fig11",
    "fig13",
    "fig14",
    "inside",
    "networks",
    "fairness",
)
sys.modules[__name__].__class__ = Package
