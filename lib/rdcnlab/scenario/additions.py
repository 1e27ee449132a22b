# SPDX-License-Identifier: Apache-2.0
"""Congestion controls that are built into a scenario's kernel: the user's own, and those of Linux that ours lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdcnlab.scenario.congestion import LINUX_VARIANTS
from rdcnlab.scenario.own import OwnAlgorithm, OwnSources
from rdcnlab.scenario.user_file import NamedFile

if TYPE_CHECKING:
    from rdcnlab.scenario.model import Scenario


@dataclass(frozen=True)
class Additions:
    """Congestion controls in addition to those of our kernel.

    Parameters
    ----------
    own : tuple of OwnSources
        The user's own.
    linux : bool
        Whether the kernel has all of `LINUX_VARIANTS`. They are built together, so that one kernel serves all.
    """

    own: tuple[OwnSources, ...]
    linux: bool

    @property
    def text(self) -> str:
        """What the identity of the kernel depends on."""
        own = [f"{one.name} {file.name} {file.sha256}" for one in self.own for file in one.files]
        return "\n".join([*own, "linux" if self.linux else ""])


def additions(scenario: Scenario) -> OwnAlgorithm | Additions | None:
    """Return what is built into the kernel of a scenario; one C file alone as it is, because it has a form of its own.

    Names of Linux count only if a flow or a program uses them.
    """
    settings = scenario.engine
    own = set(settings.own_names)
    used = {flow.cc for flow in scenario.flows} | {program.cc for program in scenario.programs}
    linux = bool((used & set(LINUX_VARIANTS)) - own)
    if not (settings.algorithms or linux):
        return settings.algorithm
    single = () if settings.algorithm is None else (_as_sources(settings.algorithm),)
    return Additions((*single, *settings.algorithms), linux)


def _as_sources(file: OwnAlgorithm) -> OwnSources:
    return OwnSources(name=file.name, files=(NamedFile(path=file.path, sha256=file.sha256, name=f"tcp_{file.name}.c"),))
