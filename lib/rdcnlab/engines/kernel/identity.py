# SPDX-License-Identifier: Apache-2.0
"""The identity of a run: the hash of kernel, plan, programs in the guest, and the code that reads the results.

The code is found from its first modules by following imports; see `rdcnlab.engines.fingerprint`.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from rdcnlab.engines import fingerprint
from rdcnlab.engines.builds import hashed
from rdcnlab.engines.kernel import build, guest
from rdcnlab.engines.kernel.plan import compile_plan
from rdcnlab.engines.kernel.switches.switch_set import switches_of
from rdcnlab.engines.kernel.traffic import programs, quic
from rdcnlab.engines.network import Network
from rdcnlab.scenario import canonical_json

_INSIDE = build.HERE / "inside"
#: First module of the code that reads a run.
_READER = "rdcnlab.engines.kernel.observe.observed"


def identity(network: Network, *, stock: bool) -> str:
    """Return the hash of everything that the tables of a run depend on.

    Parameters
    ----------
    network : Network
        The network that would be run.
    stock : bool
        Whether the kernel has the patches for time and randomness only.
    """
    switches = switches_of(network)
    parts = [
        build.identity(hz=network.engine.hz, stock=stock, algorithm=network.additions),
        build.tools_identity(),
        canonical_json(compile_plan(network, here=False)),
        *(f"{name} {digest}" for name, digest in sorted(quic.identity(network).items())),
        *(f"{name} {digest}" for name, digest in sorted(programs.identity(network.traffic.programs).items())),
        *switches.identity(),
        " ".join(guest.arguments(build.Kernel("", Path(), Path()), Path(), Path(), 0, "", "")),
        *(guest_code(kind.name) for kind in switches.kinds),
        *(reader_code(kind.reader) for kind in switches.kinds),
    ]
    return hashed(parts)


@functools.cache
def guest_code(kind: str) -> str:
    """Return the hash of the programs that run in a guest with a kind of switch."""
    # packages replace modules that the system's Python lacks; our own modules do not import them
    packages = sorted(_INSIDE.glob("*/*.py"))
    return fingerprint.kept_hash_of([_INSIDE / "main.py", _INSIDE / f"switch_{kind}.py", *packages], _beside)


@functools.cache
def reader_code(kind: str | None) -> str:
    """Return the hash of the code that makes tables of a guest's records; `kind` is a module of the kind of switch."""
    return fingerprint.kept_hash_of(fingerprint.file_of(name) for name in (_READER, kind) if name)


def _beside(tree: ast.AST, path: Path) -> Iterator[Path]:
    """Yield the modules that a module imports from its own directory."""
    for name, _ in fingerprint.imports(tree):
        file = path.parent / f"{name}.py"
        if file.exists():
            yield file
