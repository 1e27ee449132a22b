# SPDX-License-Identifier: Apache-2.0
"""A host of a lab, as ``lab.s1`` names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdcnlab.runs.printed import Printed

if TYPE_CHECKING:
    from rdcnlab.runs.lab import Lab


@dataclass(frozen=True)
class Host:
    """A host of a lab; calling it runs a program there, see `Lab.do`."""

    lab: Lab
    name: str

    def __call__(self, command: str) -> Printed:
        """Run a program from now on, and go to its end."""
        return self.lab.do(self.name, command)

    def __repr__(self) -> str:
        return f"<host {self.name} of {self.lab!r}>"
