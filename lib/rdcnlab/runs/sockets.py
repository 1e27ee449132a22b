# SPDX-License-Identifier: Apache-2.0
"""What ``ss -tin`` says of TCP connections, as a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

#: Columns: name, pattern of its value in the line of details, and the factor of its unit.
_DETAILS: tuple[tuple[str, str, float], ...] = (
    ("cwnd", r"\bcwnd:(\d+)", 1),
    ("ssthresh", r"\bssthresh:(\d+)", 1),
    ("rtt_ms", r"\brtt:([\d.]+)/", 1),
    ("mss_B", r"\bmss:(\d+)", 1),
    ("acked_B", r"\bbytes_acked:(\d+)", 1),
    ("received_B", r"\bbytes_received:(\d+)", 1),
    ("retransmits", r"\bretrans:\d+/(\d+)", 1),
    ("delivery_Mbps", r"\bdelivery_rate (\d+)bps", 1e-6),
)
COLUMNS = ("state", "local", "peer", "cc", *(name for name, _, _ in _DETAILS))


def table(text: str, addresses: Mapping[str, str]) -> pd.DataFrame:
    r"""Return one row for each connection.

    Parameters
    ----------
    text : str
        What ``ss -tinH`` printed.
    addresses : dict of str to str
        The address of each host, by name.

    Returns
    -------
    DataFrame
        ``state``, ``local`` and ``peer`` (host and port), ``cc``, ``cwnd`` and ``ssthresh`` in segments, ``rtt_ms``
        (smoothed), ``mss_B``, ``acked_B``, ``received_B``, ``retransmits`` (segments), ``delivery_Mbps``. What a
        connection does not have is missing.

    Examples
    --------
    >>> text = "ESTAB 0 0 10.0.0.1:5 10.1.0.2:80\n\t cubic rtt:10.5/0.2 cwnd:20 bytes_acked:7\n"
    >>> table(text, {"s1": "10.0.0.1", "r1": "10.1.0.2"})[["local", "peer", "cc", "cwnd", "rtt_ms"]].to_numpy().tolist()
    [['s1:5', 'r1:80', 'cubic', 20.0, 10.5]]
    """
    names = {address: name for name, address in addresses.items()}
    rows: list[dict[str, Any]] = []
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if not line[0].isspace():
            local, peer = (_named(word, names) for word in words[3:5])
            rows.append({"state": words[0], "local": local, "peer": peer})
        elif rows:
            rows[-1] |= {"cc": words[0], **_details(line)}
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _named(end: str, names: Mapping[str, str]) -> str:
    address, _, port = end.rpartition(":")
    return f"{names.get(address, address)}:{port}"


def _details(line: str) -> dict[str, float]:
    found = ((name, re.search(pattern, line), factor) for name, pattern, factor in _DETAILS)
    return {name: float(match[1]) * factor for name, match, factor in found if match}
