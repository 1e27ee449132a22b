# SPDX-License-Identifier: Apache-2.0
"""Which implementation of QUIC carries the flows of that protocol: there is none in the kernel."""

from __future__ import annotations

import string
from typing import Annotated, Any

from pydantic import StringConstraints, field_validator

from rdcnlab.scenario.fields import Frozen

#: What command lines can name: the server's address and UDP port, the congestion control, the bytes wanted, the
#: directory in which the server finds them in a file ``data``, and the server's key and certificate (PEM).
PLACES = ("address", "port", "cc", "size", "files", "key", "certificate")

Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,31}$")]
Line = Annotated[str, StringConstraints(pattern=r"^[^\s:][^\x00-\x1f]*$", max_length=1500)]


class Quic(Frozen):
    """An implementation by its command lines, which are no shell's: words between blanks.

    Parameters
    ----------
    name : str
        For tables and legends.
    version : str
        What it is meant to be, for the reader. Results are known by the programs' own bytes.
    server : str
        Serves the files of a directory over HTTP/3 until it is ended. Its segmentation offload must be off, so that
        packets are packets.
    client : str
        Asks for ``/data`` and ends with status 0 when it has all of it. It takes whatever local port it is given.

    Notes
    -----
    Both may name ``{address}`` and ``{port}`` of the server, ``{cc}``, ``{size}`` (bytes), ``{files}`` (directory),
    ``{key}`` and ``{certificate}``.
    """

    name: Label = "ngtcp2"
    version: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._+~:-]{0,64}$")] = ""
    server: Line = (
        "gtlsserver --quiet --no-quic-dump --no-http-dump --max-gso-dgrams=1 --cc={cc} --htdocs={files} "
        "{address} {port} {key} {certificate}"
    )
    client: Line = (
        "gtlsclient --quiet --no-quic-dump --no-http-dump --exit-on-all-streams-close --max-data=32M "
        "--max-stream-data-bidi-local=32M {address} {port} https://{address}:{port}/data"
    )

    @field_validator("server", "client")
    @classmethod
    def _names_what_there_is(cls, line: str) -> str:
        allowed = f"words that name no other places than {', '.join(f'{{{place}}}' for place in PLACES)}, and {{port}}"
        try:
            named = {name for _, name, _, _ in string.Formatter().parse(line) if name is not None}
        except ValueError:
            raise ValueError(allowed) from None
        if not named <= set(PLACES) or "port" not in named or " :: " in line:
            raise ValueError(allowed)
        return line

    def words(self, role: str, places: dict[str, Any]) -> list[str]:
        """Return the words of a command line, ``server`` or ``client``, with the places filled in."""
        line: str = getattr(self, role)
        return [word.format(**places) for word in line.split()]

    def program(self, role: str) -> str:
        """Return the name of the program of a command line."""
        line: str = getattr(self, role)
        return line.split()[0]
