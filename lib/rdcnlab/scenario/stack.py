# SPDX-License-Identifier: Apache-2.0
"""Stacks of hosts: what their network cards do for the kernel, and settings in which a host differs from the others."""

from __future__ import annotations

from typing import Annotated

from pydantic import model_validator

from rdcnlab.fields.quantities import Duration, FieldError, Frozen, HostName, Size, omit_default, whole
from rdcnlab.fields.units import DURATION, SIZE
from rdcnlab.scenario.mptcp import PathManager
from rdcnlab.scenario.transport import Transport

#: The largest packet of IPv4, which is the largest that a card with segmentation offload takes.
MOST_OFFLOADED = 65_535
#: The longest time for which a card may wait before it interrupts.
MOST_COALESCED = 1_000_000
#: The largest number of frames that a card may wait for: half of those that its ring has room for (patch 0056).
MOST_FRAMES = 128


class Offload(Frozen):
    """What a network card does for the kernel. By default it does nothing, so packets are frames.

    The line always carries frames, and captures show frames; see ``docs/offloads.md``.

    Parameters
    ----------
    tso : int
        TCP segmentation offload: TCP hands over packets of at most so many bytes, headers included, and the card cuts
        them into frames. 0: TCP hands over frames. Common cards of the papers' time take 64 KiB (65535 B at most).
    gro : bool
        Generic receive offload: frames of one flow that the kernel gets at the same time become one packet.
    coalesce : int
        ns for which the receiving card waits for more frames before it interrupts: interrupt moderation. 0: the kernel
        gets each frame when it arrives. Without it GRO finds hardly two frames to merge.
    coalesce_frames : int
        The card interrupts at once when so many frames wait, and the kernel gets them and what GRO holds, although
        `coalesce` is not over. 0: only the time counts.

    Examples
    --------
    >>> Offload.model_validate({"tso": "64000 B", "gro": True, "coalesce": "20 us"}).coalesce
    20000
    """

    tso: Size = 0
    gro: bool = False
    coalesce: Duration = 0
    coalesce_frames: Annotated[int, whole(0, MOST_FRAMES), omit_default] = 0

    @model_validator(mode="after")
    def _bounded(self) -> Offload:
        if self.tso > MOST_OFFLOADED:
            raise FieldError("tso", SIZE.format(self.tso), f"at most {MOST_OFFLOADED} B, the longest packet of IPv4")
        if self.coalesce > MOST_COALESCED:
            raise FieldError("coalesce", DURATION.format(self.coalesce), f"at most {DURATION.format(MOST_COALESCED)}")
        if self.coalesce and not self.gro:
            raise FieldError("gro", False, "true, with coalesce: the kernel polls the card only where it merges frames")
        if self.coalesce_frames and not self.coalesce:
            reason = "coalesce_frames needs the longest wait too, such as `coalesce: 20 us`; the count ends it early"
            raise FieldError("coalesce", DURATION.format(0), "positive", reason=reason)
        return self


class Stack(Frozen):
    """Settings of a host that differ from those of the scenario.

    Parameters
    ----------
    name : str
        Name of the host. In plain data ``h[1-4]`` names four hosts.
    transport : Transport or None
        Settings of TCP. In plain data, fields that are not given have the scenario's values. None: the scenario's.
    offload : Offload or None
        None: the scenario's.
    mptcp : PathManager or None
        None: each field's default.
    """

    name: HostName
    transport: Annotated[Transport | None, omit_default] = None
    offload: Annotated[Offload | None, omit_default] = None
    mptcp: Annotated[PathManager | None, omit_default] = None
