# SPDX-License-Identifier: Apache-2.0
"""The network of tests of hosts with several lines."""

from __future__ import annotations

from typing import Any


def access_network(*more: dict[str, Any]) -> dict[str, Any]:
    """Return a phone with lines of 50 and 20 Mb/s, 12 and 62 ms of RTT, and a server, as plain data.

    `more` are further entries of its hosts.
    """
    return {
        "name": "access",
        "switches": [{"name": "wifi"}, {"name": "lte"}, {"name": "core"}],
        "hosts": [
            {"name": "phone", "at": "wifi", "rate": "50 Mb/s", "delay": "5 ms"},
            {"name": "phone_lte", "of": "phone", "at": "lte", "rate": "20 Mb/s", "delay": "30 ms"},
            {"name": "server", "at": "core", "rate": "1 Gb/s"},
            *more,
        ],
        "links": [
            {"name": "dsl", "between": ["wifi", "core"], "rate": "1 Gb/s", "delay": "1 ms", "buffer": "1 MB"},
            {"name": "cell", "between": ["lte", "core"], "rate": "1 Gb/s", "delay": "1 ms", "buffer": "1 MB"},
        ],
    }
