# SPDX-License-Identifier: Apache-2.0
"""Libraries that only some commands need: extras and groups of ``pyproject.toml``."""

from __future__ import annotations

from importlib.util import find_spec

from rdcnlab.fields.errors import RunError
from rdcnlab.system import places

#: Extras and dependency groups by name: the part of rdcnlab that needs it, and its modules.
_EXTRAS = {
    "cluster": ("A cluster", ("distributed", "dask_jobqueue")),
    "models": ("The classifier of TCP variants", ("keras", "tensorflow")),
    "ns3": ("The engine ns3", ("ns3",)),
    "site": ("The web site", ("sphinx", "myst_nb", "pydata_sphinx_theme")),
    "sdn": ("The controller of switch: ovs", ("os_ken",)),
}
#: Those of the package of the papers.
_OF_PAPERS = ("models", "site")


def is_installed(extra: str) -> bool:
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
        raise RunError(f"{user} needs the Python {packages}; install with: {command(extra)}")


def command(extra: str) -> str:
    """Return the command that installs an extra or a group: in the source tree, or into an installed package."""
    if places.source_tree() is not None:
        return f"make {extra}"
    if extra == "ns3":  # a group with a lock of its own, which wheels do not have
        return f"pip install --no-deps --require-hashes -r {places.tree() / 'requirements-ns3.lock'}"
    package = "rdcnlab-papers" if extra in _OF_PAPERS else "rdcnlab"
    return f"pip install '{package}[{extra}]'"


def _lacking(extra: str) -> list[str]:
    return [name for name in _EXTRAS[extra][1] if find_spec(name) is None]
