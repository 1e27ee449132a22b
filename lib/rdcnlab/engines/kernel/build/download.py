# SPDX-License-Identifier: Apache-2.0
"""Downloads that are verified, resumed after an interruption, and visible only when complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rdcnlab.fields.errors import RunError

#: Called with the bytes received so far and the bytes in total (0: the server does not give the size).
Report = Callable[[int, int], None]
#: Timeout: seconds without data from the server.
SILENT_S = 60
CHUNK = 1 << 20


class ChecksumError(RunError):
    """The downloaded file has another checksum than expected; nothing of it was kept."""


def fetch(addresses: Sequence[str], sha256: str, target: Path, report: Report) -> None:
    """Download a file from the first address that has it.

    An interrupted download keeps its data in a file with the suffix ``.part`` beside the target, and the next call
    continues from there. The target exists only when it is complete and has the checksum.

    Parameters
    ----------
    addresses : sequence of str
        HTTP addresses of the same file, in the order in which they are tried.
    sha256 : str
        SHA-256 of the file, 64 hexadecimal digits.
    target : Path
        Path of the downloaded file.
    report : callable
        Called with the bytes received so far and the bytes in total.

    Raises
    ------
    ChecksumError
        The file from the last address has another checksum.
    RunError
        No address has the file. The message gives the cause for each address.
    """
    # Imported here, because this imports `requests` too, and few runs download anything.
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    problems: list[str] = []
    corrupt = False
    for address in addresses:
        downloader = Resumed(target.with_name(target.name + ".part"), report)
        try:
            pooch.retrieve(address, f"sha256:{sha256}", fname=target.name, path=target.parent, downloader=downloader)
        except requests.RequestException as error:
            problems.append(f"{address}: {_reason(error)}")
            corrupt = False
        except ValueError:
            problems.append(f"{address}: what came has another checksum than sha256 {sha256}")
            corrupt = True
        else:
            return
    reason = f"could not download {target.name}: {'; '.join(problems)}"
    raise ChecksumError(reason) if corrupt else RunError(reason)


class Resumed:
    """A downloader for `pooch.retrieve` that resumes an interrupted download.

    Parameters
    ----------
    part : Path
        File that keeps the received data until it is complete.
    report : callable
        Called with the bytes received so far and the bytes in total.
    """

    def __init__(self, part: Path, report: Report) -> None:
        self.part = part
        self.report = report

    def __call__(self, url: str, output_file: str, _pooch: object) -> None:
        """Download to `output_file`."""
        import requests

        have = self.part.stat().st_size if self.part.is_file() else 0
        # `identity` requests the bytes of the file itself, because its length and the range count these
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with requests.get(url, headers=headers, stream=True, timeout=SILENT_S) as response:
            if response.status_code == requests.codes.requested_range_not_satisfiable:
                # Either the file is complete already, or the data belongs to another file; the checksum shows which.
                self.part.replace(output_file)
                return
            response.raise_for_status()
            if response.status_code != requests.codes.partial_content:
                have = 0
            length = int(response.headers.get("Content-Length", 0))
            total = have + length if length else 0
            with self.part.open("ab" if have else "wb") as file:
                for chunk in response.iter_content(CHUNK):
                    file.write(chunk)
                    have += len(chunk)
                    self.report(have, total)
        if have < total:
            raise requests.ConnectionError(f"the connection ended after {have} of {total} bytes")
        self.part.replace(output_file)


def _reason(error: Exception) -> str:
    """Return the part of an error of `requests` that helps a user."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answers {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return f"no answer within {SILENT_S} s"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection ended before all had come; the next attempt goes on from there"
    if isinstance(error, requests.ConnectionError):
        # the innermost cause says what happened; the outer ones repeat the address
        cause: BaseException = error
        while cause.__cause__ or cause.__context__:
            cause = cause.__cause__ or cause.__context__ or cause
        return f"no connection ({cause})"
    return str(error)
