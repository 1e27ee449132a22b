# SPDX-License-Identifier: Apache-2.0
"""Let applications that were written for Ryu import os-ken by Ryu's names.

os-ken is Ryu, as OpenStack maintains it. A module ``ryu.x`` is the module ``os_ken.x`` itself, so that events and
classes are the same by either name. The class ``RyuApp`` is ``OSKenApp``.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_OLD, _NEW = "ryu", "os_ken"
#: Names in modules that differ in nothing but the name.
_RENAMED = {"os_ken.base.app_manager": {"RyuApp": "OSKenApp"}, "os_ken.exception": {"RyuException": "OSKenException"}}


class Finder(MetaPathFinder, Loader):
    """Finds modules of Ryu in os-ken."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002  (Python's signature)
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return how to import a module of Ryu; raise ModuleNotFoundError if os-ken has no such module."""
        if fullname.partition(".")[0] != _OLD:
            return None
        name = _NEW + fullname.removeprefix(_OLD)
        try:
            there = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            there = None
        if there is None:
            raise ModuleNotFoundError(
                f"os-ken, which runs applications of Ryu here, has no module {name} for {fullname}", name=fullname
            )
        return ModuleSpec(fullname, self, is_package=there.submodule_search_locations is not None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of os-ken."""
        module = importlib.import_module(_NEW + spec.name.removeprefix(_OLD))
        # the import system describes a module anew by the name that it is imported by
        self.described = {key: getattr(module, key, None) for key in ("__spec__", "__loader__", "__package__")}
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing but keep the module as it was: it is executed already."""
        for key, value in self.described.items():
            setattr(module, key, value)


def install() -> None:
    """Let ``import ryu`` find os-ken from now on."""
    for module, names in _RENAMED.items():
        for old, new in names.items():
            setattr(importlib.import_module(module), old, getattr(importlib.import_module(module), new))
    sys.meta_path.insert(0, Finder())
