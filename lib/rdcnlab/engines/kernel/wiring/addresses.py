# SPDX-License-Identifier: Apache-2.0
"""IPv4 addresses of hosts, ``10.<part>.<number of the host>``.

With one switch, `part` is the subflow of Multipath TCP: the switch distinguishes subflows by it. With several switches,
`part` is the number of the host's switch, so that all hosts of a rack are one prefix.
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


def prefix(part: int) -> str:
    """Return the prefix of all hosts with the same `part`.

    Examples
    --------
    >>> prefix(3)
    '10.3.0.0/16'
    """
    return f"10.{part}.0.0/16"
