# SPDX-License-Identifier: Apache-2.0
"""Digests of the content of tables. They do not depend on the file format or the library version."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import pyarrow as pa


def digests(tables: Mapping[str, pa.Table]) -> dict[str, str]:
    """Return the digest of every table."""
    return {name: digest(table) for name, table in sorted(tables.items())}


def digest(table: pa.Table) -> str:
    """Return the sha256 of a table's columns, in hexadecimal.

    The digest depends on names, types, the order of rows, and every bit of every value. It does not depend on chunks,
    on dictionaries or on the version of parquet.
    """
    sha = hashlib.sha256()
    for field, column in zip(table.schema, table.columns, strict=True):
        sha.update(f"{field.name} {field.type} {len(column)}\n".encode())
        missing = column.is_null().to_numpy(zero_copy_only=False)
        sha.update(np.packbits(missing).tobytes())
        for part in _parts(column):
            sha.update(part)
    return sha.hexdigest()


def _parts(column: pa.ChunkedArray) -> list[bytes]:
    if pa.types.is_string(column.type):
        import pyarrow.compute as pc  # a reader of runs does not need it

        text = column.fill_null("")
        lengths = pc.binary_length(text).to_numpy()
        return [lengths.astype("<i8").tobytes(), "".join(text.to_pylist()).encode()]
    if pa.types.is_boolean(column.type):
        return [np.packbits(column.fill_null(False).to_numpy(zero_copy_only=False)).tobytes()]
    values = column.fill_null(0).to_numpy()
    return [values.astype(values.dtype.newbyteorder("<")).tobytes()]
