# SPDX-License-Identifier: Apache-2.0
"""How the queue at the end of a line marks and drops packets."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import model_validator

from rdcnlab.fields.quantities import FieldError, Frozen, LinkName, Share, Size, omit_default
from rdcnlab.scenario.aqm import Aqm


class Ramp(Frozen):
    """A probability that rises with the length of a queue.

    Parameters
    ----------
    min, max : int
        Queue length in bytes at which the probability begins to rise, and above which it is 1.
    probability : int
        Probability just below `max`, in millionths; it rises linearly from `min`. Text form ``10 %``.
    """

    min: Size
    max: Size
    probability: Share

    @model_validator(mode="after")
    def _ordered(self) -> Ramp:
        if not self.max:
            raise FieldError("max", self.max, "more than 0 B; without this part nothing is dropped or marked by chance")
        if self.min > self.max:
            raise FieldError("min", self.min, f"at most max ({self.max})")
        return self


class Red(Ramp):
    """Random early drop of packets that are not ECN-capable; if `min` and `max` are equal, it is a limit for them."""


class Marking(Ramp):
    """Marking of ECN-capable packets with a probability, as DCQCN has it."""


def replaced(aqm: Aqm) -> str:
    """Return why a setting that a discipline replaces must be left out."""
    return f"because aqm is given: {aqm.kind} has its own limit, and decides what is dropped and marked"


class Queueing(Frozen):
    """How a queue marks and drops packets, in addition to its limit.

    Parameters
    ----------
    pool : str or None
        Name of a shared buffer that the queue uses.
    ecn_threshold : int or None
        Queue length in bytes above which an arriving ECN-capable packet is marked.
    red : Red or None
        Random early drop of packets that are not ECN-capable; None: no random early drop.
    marking : Marking or None
        Marking with a probability, instead of `ecn_threshold`.
    aqm : Aqm or None
        A queueing discipline of Linux, instead of all other settings of this queue: it has its own limit and marks.
    """

    pool: LinkName | None = None
    ecn_threshold: Size | None = None
    red: Red | None = None
    marking: Annotated[Marking | None, omit_default] = None
    aqm: Annotated[Aqm | None, omit_default] = None

    #: Fields that a discipline replaces.
    _REPLACED: ClassVar[tuple[str, ...]] = ("pool", "ecn_threshold", "red", "marking")

    @model_validator(mode="after")
    def _one_behaviour(self) -> Queueing:
        if self.aqm is not None:
            for field in self._REPLACED:
                if getattr(self, field) is not None:
                    raise FieldError.left_out(field, "given", replaced(self.aqm))
        if self.marking is not None and self.ecn_threshold is not None:
            raise FieldError.left_out("ecn_threshold", self.ecn_threshold, "because marking says what is marked")
        return self
