# SPDX-License-Identifier: Apache-2.0
"""Files of workloads: lines of words with commas or blanks between them, and perhaps a header."""

from __future__ import annotations

from pathlib import Path

from rdcnlab.fields import input_file
from rdcnlab.fields.files import unreadable
from rdcnlab.fields.quantities import FieldError

#: Largest number of lines of a file; the scenario contains them.
MOST_LINES = 100_000


def lines_of(path: Path, given: str, columns: int, allowed: str) -> list[tuple[int, list[str]]]:
    """Return the lines of a file with their numbers, each as a list of words, without the header and empty lines.

    Parameters
    ----------
    path : Path
        Path of the file.
    given : str
        Its path as the scenario names it.
    columns : int
        Number of words that each line must have.
    allowed : str
        What the file must be, in words.

    Raises
    ------
    ValueError
        The file cannot be read, or a line has another number of words. The text names the line.
    """
    try:
        content = input_file.read_lines(path, input_file.TABLE, "utf-8-sig")
    except OSError as error:
        raise FieldError("", given, f"a file that can be read ({path})", reason=unreadable(path, error)) from None
    except UnicodeDecodeError:
        raise ValueError(f"{allowed} ({given}: this is not text)") from None
    rows = [
        (number, line.replace(",", " ").split())
        for number, line in enumerate(content, 1)
        if line.strip() and not line.startswith("#")
    ]
    if rows and not any(sign.isdigit() for sign in rows[0][1][-1]):
        rows = rows[1:]  # a header
    for number, words in rows:
        if len(words) != columns:
            raise ValueError(f"{allowed} ({given}, line {number}: {' '.join(words)[:40]!r})")
    if not 1 <= len(rows) <= MOST_LINES:
        raise ValueError(f"{allowed}, with 1 to {MOST_LINES} lines ({given} has {len(rows)})")
    return rows
