# SPDX-License-Identifier: Apache-2.0
"""`Caution`: a sentence about something that is legal and nearly always a mistake."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Caution:
    """Something legal that is probably not intended.

    Parameters
    ----------
    field : str
        Path of the field that the cure changes.
    text : str
        What happens, in a sentence.
    cure : str
        What to change, in a sentence.
    """

    field: str
    text: str
    cure: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}. {self.cure}"
