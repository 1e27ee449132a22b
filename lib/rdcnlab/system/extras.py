# SPDX-License-Identifier: Apache-2.0
"""Libraries that only some commands need: the extras of ``pyproject.toml``."""

from __future__ import annotations

from importlib.util import find_spec

from rdcnlab.fields.errors import RunError

#: Extras by name: the part of rdcnlab that needs the extra, and the extra's modules.
_EXTRAS = {"models": ("The classifier of TCP variants", ("keras", "tensorflow"))}


def require(extra: str) -> None:
    """Raise RunError with the command that installs an extra if its modules are missing.

    Parameters
    ----------
    extra : {'models'}
        Name of the extra in ``pyproject.toml``.
    """
    user, modules = _EXTRAS[extra]
    lacking = [name for name in modules if find_spec(name) is None]
    if lacking:
        raise RunError(f"{user} needs the Python packages {' and '.join(modules)}; install them with: make {extra}")
