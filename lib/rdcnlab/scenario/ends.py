# SPDX-License-Identifier: Apache-2.0
"""Hosts' own ends of their cables: lines, or the token buckets of published results.

Canonical data leave ``ends`` out where hosts have token buckets, as all did when results were first published. A
network that somebody writes has lines. Canonical data are told from what somebody writes by their form: they state
every other field of a network and of its hosts. ``docs/decisions/ends-of-hosts.md`` has the reasons.
"""

from __future__ import annotations

from typing import Any, Literal

from rdcnlab.fields.quantities import Frozen, canonical_names
from rdcnlab.scenario.elements import Host
from rdcnlab.scenario.network import Network

Ends = Literal["exact", "bucket"]
WRITTEN: Ends = "exact"


def with_ends(network: dict[str, Any], *, text: bool) -> dict[str, Any]:
    """Return a network's plain data with the ends that a network has which somebody writes.

    Parameters
    ----------
    network : dict
        The plain data. If they are canonical they keep their meaning.
    text : bool
        Whether the data are from a file that somebody wrote.
    """
    return network if not text and _is_canonical(network) else {"ends": WRITTEN, **network}


def _is_canonical(network: dict[str, Any]) -> bool:
    hosts = network.get("hosts")
    return (
        _states_all(network, Network)
        and isinstance(hosts, list | tuple)
        and all(_states_all(host, Host) for host in hosts)
    )


def _states_all(data: Any, kind: type[Frozen]) -> bool:
    if isinstance(data, kind):
        return True
    return isinstance(data, dict) and data.keys() >= canonical_names(kind)
