# SPDX-License-Identifier: Apache-2.0
"""The directory of a local run. Nothing is taken from it that is not what was written.

Its `sums.NAME` lists the SHA-256 of each other file, ``digest.json`` has the digest of each table's content, and the
directory's name is the id, which is a hash of the scenario and of the engine's identity. Tables are written with a
checksum for each page, too. A run that was stored by an earlier version has no list. When it is read for the first
time, its tables are compared with ``digest.json``, its files with those that the provenance names, and its scenario
with the id; then the list is added. The rest of such a provenance is taken as it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from rdcnlab.engines import schema_of
from rdcnlab.fields.errors import RunError
from rdcnlab.runs import sums
from rdcnlab.runs.digest import digest
from rdcnlab.runs.sums import Damaged
from rdcnlab.scenario import hash_of

SCENARIO, PROVENANCE, DIGEST = "scenario.json", "provenance.json", "digest.json"

#: Lists of old runs that could not be added, as in a store that is read-only.
_not_added: dict[Path, dict[str, str]] = {}


@dataclass(frozen=True)
class Content:
    """What a run's directory says of the run; `scenario` is plain data."""

    scenario: dict[str, Any]
    provenance: dict[str, Any]
    digests: dict[str, str]


def id_of(scenario_hash: str, identity: str) -> str:
    """Return the id of the run of a scenario by an engine."""
    return hashlib.sha256(f"{scenario_hash} {identity}".encode()).hexdigest()


def write_table(table: pa.Table, path: Path, *, row_group_size: int | None = None) -> None:
    """Write a table as parquet. The same content and version of pyarrow give the same bytes."""
    import pyarrow.parquet as pq  # takes as long as the models of a scenario

    pq.write_table(
        table.combine_chunks(),
        path,
        compression="zstd",
        compression_level=9,
        use_dictionary=True,
        row_group_size=row_group_size,
        write_page_checksum=True,
    )


def seal(directory: Path) -> dict[str, str]:
    """Add the list of the files of a run, and return it."""
    listed = _sums_of(directory)
    part = directory / f".{sums.NAME}.{secrets.token_hex(8)}"
    try:
        with part.open("wb") as file:
            file.write(sums.listing(listed))
            file.flush()
            os.fsync(file.fileno())
        part.rename(directory / sums.NAME)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    return listed


def read(directory: Path) -> Content:
    """Read what a run's directory says of the run, after a check of all its files.

    Raises
    ------
    Damaged
        A file is missing, or it is not what was written.
    """
    listed = _listed(directory)
    texts = {}
    for name in (SCENARIO, PROVENANCE, DIGEST):
        if name not in listed:
            raise Damaged(directory / sums.NAME)
        texts[name] = sums.content(directory / name, listed[name])
    for name in listed.keys() - texts:
        sums.check(directory / name, listed[name])
    content = Content(*(_data(directory / name, text) for name, text in texts.items()))
    if any(f"{name}.parquet" not in listed for name in content.digests):
        raise Damaged(directory / sums.NAME)
    _check_id(directory, content)
    return content


def table(directory: Path, name: str) -> pa.Table:
    """Read a table of a run.

    Raises
    ------
    RunError
        The table is damaged. The run counts as missing from then on.
    """
    import pyarrow.parquet as pq

    try:
        path = _checked(directory, f"{name}.parquet")
        return pq.read_table(path, schema=schema_of(name), page_checksum_verification=True)
    except (Damaged, OSError, pa.ArrowException) as error:
        raise _lost(error) from None


def file(directory: Path, name: str) -> Path:
    """Return the path of a file of a run.

    Raises
    ------
    RunError
        The file is damaged. The run counts as missing from then on.
    """
    try:
        return _checked(directory, name)
    except Damaged as error:
        raise _lost(error) from None


def _lost(error: Exception) -> RunError:
    return RunError(f"{error}; do it again, and the run is made again")


def _checked(directory: Path, name: str) -> Path:
    path = directory / name
    listed = _listed(directory)
    if name not in listed:
        raise Damaged(directory / sums.NAME)
    sums.check(path, listed[name])
    return path


def _listed(directory: Path) -> dict[str, str]:
    path = directory / sums.NAME
    if os.path.lexists(path):
        return sums.listed(path)
    return _not_added.get(directory) or _upgraded(directory)


def _upgraded(directory: Path) -> dict[str, str]:
    """Check a run that an earlier version stored, and add the list of its files."""
    import pyarrow.parquet as pq

    texts = {name: sums.content(directory / name) for name in (SCENARIO, PROVENANCE, DIGEST)}
    content = Content(*(_data(directory / name, text) for name, text in texts.items()))
    for name, measured in content.digests.items():
        path = directory / f"{name}.parquet"
        try:
            stored = pq.read_table(path, schema=schema_of(name))
        except OSError as error:
            raise sums.unreadable(path, error) if error.errno else Damaged(path) from None
        except Exception:  # noqa: BLE001 - whatever a reader says of damaged bytes
            raise Damaged(path) from None
        if digest(stored) != measured:
            raise Damaged(path)
    files = content.provenance.get("files", {})
    if not isinstance(files, dict):
        raise Damaged(directory / PROVENANCE)
    for name, measured in files.items():
        sums.check(directory / name, measured)
    _check_id(directory, content)
    try:
        return seal(directory)
    except OSError:
        return _not_added.setdefault(directory, _sums_of(directory))


def _sums_of(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a run, except its list, also one that was not written to its end."""
    paths = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
    return {name: sums.sha256(path) for name, path in paths.items() if not name.lstrip(".").startswith(sums.NAME)}


def _data(path: Path, text: bytes) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        raise Damaged(path) from None
    if not isinstance(data, dict):
        raise Damaged(path)
    return data


def _check_id(directory: Path, content: Content) -> None:
    """Raise `Damaged` if the scenario is not that of the directory's id."""
    try:
        expected = id_of(hash_of(content.scenario), str(content.provenance["identity"]))
    except (KeyError, TypeError, AttributeError, ValueError):
        expected = ""
    if expected != directory.name:
        raise Damaged(directory / SCENARIO, "does not fit the run's id")
