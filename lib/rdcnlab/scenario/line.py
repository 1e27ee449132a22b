# SPDX-License-Identifier: Apache-2.0
"""Lines whose rate changes, and lines with faults."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from rdcnlab.fields.quantities import (
    Duration,
    FieldError,
    Frozen,
    Listed,
    Share,
    SlotDuration,
    omit_default,
    quantity,
    whole,
)
from rdcnlab.fields.units import RATE
from rdcnlab.scenario.rate_trace import BYTES, read_trace
from rdcnlab.scenario.user_file import DIRECTORY

#: Steps of a line, and instants of a trace, at most; the scenario contains them.
MOST_STEPS = 200_000


class RateStep(Frozen):
    """One step of a rate that changes; text form ``[1 s, 2 Mb/s]``.

    Parameters
    ----------
    duration : int
        ns.
    rate : int
        bit/s on the wire; 0: the line is down, and a frame under way waits on it.
    """

    duration: SlotDuration
    rate: Annotated[int, *quantity(RATE, 0, 10 * 10**12)]


def _read_step(value: Any) -> Any:
    if isinstance(value, list | tuple):
        if len(value) != 2:
            raise ValueError("a pair such as [1 s, 2 Mb/s]")
        return {"duration": value[0], "rate": value[1]}
    return value


def _read_steps(rate: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a line whose rate is a list of steps.

    Raises
    ------
    ValueError
        A step is no pair, its rate is none, or no rate is above 0.
    """
    if rate and not any(isinstance(step, list | tuple | dict) for step in rate):
        raise ValueError("a list of steps, each a list of its own, such as [[1 s, 2 Mb/s], [1 s, 16 Mb/s]]")
    steps = [_read_step(step) for step in rate]
    rates = [step.get("rate") for step in steps if isinstance(step, dict)]
    values = [RATE.parse(value) if isinstance(value, str) else value for value in rates]
    most = max((value for value in values if isinstance(value, int)), default=0)
    if not most:
        raise ValueError("at least one step with a rate above 0, such as [1 s, 2 Mb/s]")
    return {"rate": RATE.format(most), "steps": steps}


class GilbertElliott(Frozen):
    """Losses in bursts: a line is good or bad, and may change after each frame.

    Parameters
    ----------
    good_bad, bad_good : int
        Probability that the line changes after a frame, in millionths; text form ``1 %``. A bad time has 1 / `bad_good`
        frames in the mean.
    loss_good, loss_bad : int
        Probability of a loss while the line is good, and while it is bad.
    """

    good_bad: Share
    bad_good: Share
    loss_good: Share = 0
    loss_bad: Share = 1_000_000


class Faulty(Frozen):
    """A line with faults. Each end of a line draws its own random numbers, which no other line changes.

    Parameters
    ----------
    loss : int
        Probability that a frame is lost after the line has sent it, in millionths; text form ``1 %``.
    bursts : GilbertElliott or None
        Losses in bursts, instead of `loss`.
    jitter : int
        Largest additional delay of a frame in ns; all values up to it are equally likely. Frames keep their order
        unless `reorder` is true.
    reorder : bool
        Whether a frame with less jitter overtakes others.
    duplicate : int
        Probability that a frame arrives twice, in millionths.
    corrupt : int
        Probability that one bit of a frame is wrong, in millionths. A receiver discards it by its checksum.
    """

    loss: Annotated[Share, omit_default] = 0
    bursts: Annotated[GilbertElliott | None, omit_default] = None
    jitter: Annotated[Duration, omit_default] = 0
    reorder: Annotated[bool, omit_default] = False
    duplicate: Annotated[Share, omit_default] = 0
    corrupt: Annotated[Share, omit_default] = 0

    @property
    def errs(self) -> bool:
        """Whether the line has any fault."""
        return bool(self.loss or self.bursts is not None or self.jitter or self.duplicate or self.corrupt)

    @model_validator(mode="after")
    def _one_kind_of_loss(self) -> Faulty:
        if self.loss and self.bursts is not None:
            raise FieldError.left_out("bursts", "given", "because loss is given; one of them says what is lost")
        if self.reorder and not self.jitter:
            raise FieldError("reorder", self.reorder, "false without jitter, because nothing can overtake")
        return self


class Changing(Faulty):
    """A line whose rate changes. A change never lets a frame overtake one under way.

    Parameters
    ----------
    steps : tuple of RateStep
        The rate over time, from the start of the scenario; empty: `rate` is constant. In files ``rate`` may be this
        list; `rate` is then the largest of them.
    repeat : bool
        Whether the steps begin again after the last one; otherwise the last rate stays.
    opportunities : tuple of int
        Milliseconds at which `opportunity` bytes may leave, in the format of mahimahi's ``mm-link``. They begin again
        after the last one. What finds an empty queue is lost. In files: ``rate: {trace: FILE}``.
    opportunity : int
        Bytes that may leave at each of these instants; an IP packet counts with 4 bytes more.
    down : tuple of (int, int)
        Spans in ns, from and to, in which nothing is sent. A frame under way waits on the line.
    """

    steps: Annotated[
        tuple[Annotated[RateStep, BeforeValidator(_read_step)], ...], Field(max_length=MOST_STEPS), Listed, omit_default
    ] = ()
    repeat: Annotated[bool, omit_default] = True
    opportunities: Annotated[
        tuple[Annotated[int, whole(0, 10**8)], ...], Field(max_length=MOST_STEPS), Listed, omit_default
    ] = ()
    opportunity: Annotated[int, whole(64, 65_535), omit_default] = BYTES
    down: Annotated[tuple[Annotated[tuple[Duration, Duration], Listed], ...], Listed, omit_default] = ()

    @model_validator(mode="before")
    @classmethod
    def _rate_over_time(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict):
            return data
        rate = data.get("rate")
        if isinstance(rate, dict):
            if set(rate) != {"trace"} or not isinstance(rate["trace"], str):
                raise FieldError("rate", rate, "a rate, a list of steps such as [[1 s, 2 Mb/s]], or {trace: FILE}")
            path = Path((info.context or {}).get(DIRECTORY) or ".") / rate["trace"]
            return {**data, **read_trace(path)}
        if isinstance(rate, list | tuple):
            try:
                return {**data, **_read_steps(rate)}
            except ValueError as error:  # of one step: the message would show the whole link
                raise FieldError("rate", rate, str(error)) from None
        return data

    @model_validator(mode="after")
    def _one_form(self) -> Changing:
        given = [name for name in ("steps", "opportunities", "down") if getattr(self, name)]
        if len(given) > 1:
            why = f"because {given[0]} say when frames are sent; a step may have rate 0"
            raise FieldError.left_out(given[1], "given", why)
        most = max((step.rate for step in self.steps), default=None)
        if most is not None and getattr(self, "rate", most) != most:
            allowed = f"{RATE.format(most)}, the largest rate of its steps; to change them, change steps"
            raise FieldError("rate", RATE.format(getattr(self, "rate", 0)), allowed)
        instants = list(self.opportunities)
        if instants != sorted(instants) or (instants and not instants[-1]):
            raise FieldError("opportunities", "given", "milliseconds in rising order, the last one above 0")
        end = 0
        for index, (first, last) in enumerate(self.down):
            if not end <= first < last:
                raise FieldError(
                    f"down[{index}]", [first, last], "a span that begins after the one before and ends later"
                )
            end = last
        return self

    @property
    def changes(self) -> bool:
        """Whether the rate is not constant."""
        return bool(self.steps or self.opportunities or self.down)
