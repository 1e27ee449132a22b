# SPDX-License-Identifier: Apache-2.0
"""The queueing discipline of a host."""

from __future__ import annotations

from typing import Literal

from rdcnlab.scenario.aqm import Aqm


class Qdisc(Aqm):
    """The queueing discipline of a host's device, written as `Aqm` is: ``qdisc: {kind: fq_codel, limit: 1000}``.

    Hosts may have any discipline of Linux that stands alone at the root; those of lines are some of them.

    Parameters
    ----------
    kind : str
        The discipline, by its name in ``tc``.
    options : tuple of Option
        Its options, in the order in which ``tc`` gets them.
    """

    kind: Literal[  # type: ignore[assignment]  # more than lines have
        "bfifo",
        "cake",
        "choke",
        "codel",
        "ets",
        "fq",
        "fq_codel",
        "fq_pie",
        "hhf",
        "netem",
        "pfifo",
        "pfifo_fast",
        "pie",
        "prio",
        "red",
        "sfb",
        "sfq",
        "tbf",
    ]
