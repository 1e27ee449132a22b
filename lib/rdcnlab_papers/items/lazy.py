# SPDX-License-Identifier: Apache-2.0
"""Import the items of a paper on first use: a paper has many items, and each imports libraries of its own."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdcnlab_papers.items.item import Item


class Package(ModuleType):
    """The package of a paper: ``aykurt.fig4`` is the item of the module ``aykurt/fig4.py``.

    ``ITEMS`` names the items in the order of the paper. The item is the class that has the name of its module.
    """

    ITEMS: tuple[str, ...]

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__.get("ITEMS", ()):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        importlib.import_module(f"{self.__name__}.{name}")
        return self.__dict__[name]

    def __setattr__(self, name: str, value: Any) -> None:
        # Python makes each imported module an attribute of its package. Here the item's class replaces the module.
        if isinstance(value, ModuleType) and name in self.__dict__.get("ITEMS", ()):
            value = vars(value)[name.capitalize()]
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.ITEMS})

    def items(self) -> list[type[Item]]:
        """Return all items in the order of the paper."""
        return [getattr(self, name) for name in self.ITEMS]
