# SPDX-License-Identifier: Apache-2.0
"""Libraries that only some commands need: extras and groups of ``pyproject.toml``."""

from __future__ import annotations

from importlib.util import find_spec

from rdcnlab.fields.errors import RunError

#: Extras and dependency groups by name: the part of rdcnlab that needs it, and its modules.
_EXTRAS = {
    "cluster": ("A cluster", ("distributed", "dask_jobqueue")),
    "models": ("The classifier of TCP variants", ("keras", "tensorflow")),
    "ns3": ("The engine ns3", ("ns3",)),
    "site": ("The web site", ("sphinx", "myst_nb", "pydata_sphinx_theme")),
    "sdn": ("The controller of switch: ovs", ("os_ken",)),
}


def installed(extra: str) -> bool:
    """Return whether all modules of an extra are installed."""
    return not _lacking(extra)


def require(extra: str) -> None:
    """Raise RunError with the command that installs an extra if its modules are missing.

    Parameters
    ----------
    extra : {'cluster', 'models', 'sdn', 'site', 'ns3'}
        Name of the extra, or of the group, in ``pyproject.toml``.
    """
    user, modules = _EXTRAS[extra]
    if _lacking(extra):
        packages = f"package{'s' if len(modules) > 1 else ''} {' and '.join(modules)}"
        raise RunError(f"{user} needs the Python {packages}; install with: make {extra}")


def _lacking(extra: str) -> list[str]:
    return [name for name in _EXTRAS[extra][1] if find_spec(name) is None]
