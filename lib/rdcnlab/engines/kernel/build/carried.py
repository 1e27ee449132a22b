# SPDX-License-Identifier: Apache-2.0
"""The kernel that the Python package ``rdcnlab-kernel`` carries, with all programs that guests need.

``make wheel`` makes the package. Its programs are linked statically, so they run on any x86-64 system. Its
``manifest.json`` names the compiler and the source that it was built with, so its ids can be computed where neither is
installed.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.build import source, toolchain
from rdcnlab.fields.errors import RunError

#: Name of the package, and of the module in it.
PACKAGE, MODULE = "rdcnlab-kernel", "rdcnlab_kernel"


@dataclass(frozen=True)
class Package:
    """The installed package.

    Parameters
    ----------
    root : Path
        Directory of the module.
    version : str
        Version of the package.
    kernel, tools : str
        Ids of the kernel and of our own programs.
    compiler : str
        First line of ``gcc --version`` where it was built.
    source : Source
        The kernel's source, which is not in the package.
    """

    root: Path
    version: str
    kernel: str
    tools: str
    compiler: str
    source: source.Source

    def __str__(self) -> str:
        return f"the package {PACKAGE} {self.version}"

    @property
    def kernel_directory(self) -> Path:
        """Directory with ``linux``, ``config`` and ``version``, named as in the cache."""
        return self.root / "kernels" / self.kernel[:16]

    @property
    def tools_directory(self) -> Path:
        """Directory with our own programs and those of the system, named as in the cache."""
        return self.root / "kernels" / f"tools-{self.tools[:16]}"


def find(cache: Path) -> Package | None:
    """Return the installed package, whatever kernel it carries; None if there is none.

    If ``KERNEL_SOURCE`` names a source, the package is only used if it is what this machine would build from it: if it
    was made from the same source with the same compiler.

    Parameters
    ----------
    cache : Path
        Directory of kernels, for `source.find`.
    """
    spec = importlib.util.find_spec(MODULE)
    manifest = Path(spec.origin).parent / "manifest.json" if spec is not None and spec.origin else None
    if manifest is None or not manifest.is_file():
        return None
    package = _read(manifest, manifest.stat().st_mtime_ns)
    if os.environ.get("KERNEL_SOURCE"):
        try:
            here = source.find(cache).digest, toolchain.compiler()
        except RunError:
            return None
        if here != (package.source.digest, package.compiler):
            return None
    return package


@functools.lru_cache(maxsize=4)
def _read(manifest: Path, _changed_ns: int) -> Package:
    """Read a manifest once, as long as its file does not change."""
    content: dict[str, Any] = json.loads(manifest.read_text())
    made_from = content.pop("source")
    archive = source.Source(made_from["name"], Path(os.devnull), made_from["digest"], made_from["release"])
    names = ("version", "kernel", "tools", "compiler")
    return Package(root=manifest.parent, source=archive, **{name: content[name] for name in names})
