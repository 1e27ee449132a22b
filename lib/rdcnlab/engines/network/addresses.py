# SPDX-License-Identifier: Apache-2.0
"""IPv4 addresses of hosts, ``10.<part>.<number of the host>``.

With one switch, `part` is the subflow of Multipath TCP: the switch distinguishes subflows by it. With several switches,
`part` is the number of the host's switch, so that all hosts of a rack are one prefix. The third byte is then the
subflow of Multipath TCP, with which only the first 255 hosts have subflows: their numbers fit into the last byte.
"""

from __future__ import annotations


def address(number: int, part: int = 0) -> str:
    """Return the address of a host.

    Examples
    --------
    >>> address(0), address(299, part=3)
    ('10.0.0.1', '10.3.1.44')
    """
    return f"10.{part}.{(number + 1) >> 8}.{(number + 1) & 255}"


def of_subflow(ip: str, subflow: int, *, graph: bool) -> str:
    """Return a host's address for a subflow, from its first address; `graph` says whether there are several switches.

    Examples
    --------
    >>> of_subflow("10.0.1.44", 2, graph=False), of_subflow("10.3.0.7", 2, graph=True)
    ('10.2.1.44', '10.3.2.7')
    """
    words = ip.split(".")
    words[2 if graph else 1] = str(subflow)
    return ".".join(words)


def prefix(part: int) -> str:
    """Return the prefix of all hosts with the same `part`.

    Examples
    --------
    >>> prefix(3)
    '10.3.0.0/16'
    """
    return f"10.{part}.0.0/16"
