# SPDX-License-Identifier: Apache-2.0
"""The implementation of QUIC that carries QUIC flows; the kernel has none."""

from __future__ import annotations

import string
from typing import Annotated, Any

from pydantic import field_validator

from rdcnlab.fields.quantities import Frozen, text

#: Placeholders of command lines: the server's address and UDP port, the congestion control, the number of bytes to
#: transfer, the directory where the server finds them as the file ``data``, and the server's key and certificate (PEM).
PLACES = ("address", "port", "cc", "size", "files", "key", "certificate")

#: Smallest IP packet that the network must carry: a QUIC datagram of 1200 bytes with its headers.
QUIC_MTU = 1228
#: Largest number of words of a command line, as in ``tools/traffic_program.c``.
MAX_WORDS = 64

Label = Annotated[
    str, text("[A-Za-z0-9][A-Za-z0-9 ._+-]{0,31}", "1 to 32 letters, digits, blanks, ., _, + or -, not a sign first")
]
Line = Annotated[
    str, text("[!-9;-~][ -~]{0,999}", "1 to 1000 printable ASCII characters, the first neither a blank nor a colon")
]
Version = Annotated[str, text("[A-Za-z0-9._+~:-]{0,64}", "at most 64 letters, digits, ., _, +, ~, : or -")]


class Quic(Frozen):
    """An implementation of QUIC, given by its command lines; they are split at blanks, and no shell interprets them.

    Parameters
    ----------
    name : str
        Name in tables and legends.
    version : str
        Version that the programs should have, as information for the reader. The identity of results contains the
        programs' bytes, not this text.
    server : str
        This program serves the files of a directory over HTTP/3 until it is ended. Its segmentation offload must be
        off, so that each datagram it sends is one packet. (For a version of ngtcp2 without such an option, the
        default's option is left out.)
    client : str
        This program requests ``/data`` and ends with status 0 when it has received all of it. It may use any local
        port.

    Notes
    -----
    Both command lines may contain ``{address}`` and ``{port}`` of the server, ``{cc}``, ``{size}`` (bytes), ``{files}``
    (directory), ``{key}`` and ``{certificate}``.

    The key is an Ed25519 key, which programs based on BoringSSL do not accept. Their command lines name other key
    files. The guest can read files below ``/mnt``, ``/etc`` and ``/usr``.

    A run is reproduced byte by byte if its programs take random numbers from the kernel only. Go's runtime and
    BoringSSL also take them from the processor. BoringSSL does not with ``env OPENSSL_ia32cap=~0x4000000000000000``
    before the program's name.

    Examples
    --------
    quic-go 0.29 in Debian's Caddy, which makes its own certificate. It always uses Reno; ``{cc}`` has no effect:

    >>> quic_go = Quic(
    ...     name="quic-go",
    ...     version="0.29",
    ...     server="caddy file-server --root {files} --domain localhost --listen {address}:{port}",
    ...     client="gtlsclient --quiet --no-quic-dump --no-http-dump --exit-on-all-streams-close --sni=localhost "
    ...     "--max-data=32M --max-stream-data-bidi-local=32M {address} {port} https://localhost:{port}/data",
    ... )

    LSQUIC with its own example programs and CUBIC (``cc_algo=1``):

    >>> lsquic = Quic(
    ...     name="lsquic",
    ...     version="3.3.1",
    ...     server="http_server -r {files} -s {address}:{port} -c example.com,/mnt/ec.pem,/mnt/ec.key -o cc_algo=1",
    ...     client="http_client -H example.com -s {address}:{port} -p /data -K",
    ... )
    """

    name: Label = "ngtcp2"
    version: Version = ""
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
    def _uses_known_placeholders(cls, line: str) -> str:
        placeholders = ", ".join(f"{{{place}}}" for place in PLACES)
        allowed = (
            f"at most {MAX_WORDS} words, none of them ::, with {{port}} and no other placeholders than {placeholders}"
        )
        try:
            parts = [part[1:] for part in string.Formatter().parse(line) if part[1] is not None]
        except ValueError:
            raise ValueError(allowed) from None
        names = {name for name, _, _ in parts}
        is_plain = all(not spec and conversion is None for _, spec, conversion in parts)
        words = line.split()
        if not is_plain or not names <= set(PLACES) or "port" not in names or "::" in words or len(words) > MAX_WORDS:
            raise ValueError(allowed)
        if "{" in words[0]:
            raise ValueError(f"{allowed}; the first word is the name of a program")
        return line

    def words(self, role: str, places: dict[str, Any]) -> list[str]:
        """Return the words of a command line, ``server`` or ``client``, with the placeholders replaced."""
        line: str = getattr(self, role)
        return [word.format(**places) for word in line.split()]

    def program(self, role: str) -> str:
        """Return the name of the program that a command line, ``server`` or ``client``, starts."""
        line: str = getattr(self, role)
        return line.split()[0]
