# SPDX-License-Identifier: Apache-2.0
"""Programs of a scenario: unchanged programs that run in hosts, and their files."""

from __future__ import annotations

import errno
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Annotated, Any

from pydantic import ValidationInfo, model_validator

from rdcnlab.fields.errors import InputError
from rdcnlab.fields.files import Refused, is_file, is_there, unreadable
from rdcnlab.fields.input_file import GIVEN, files_below
from rdcnlab.fields.quantities import Duration, FieldError, FlowName, Frozen, HostName, Listed, text
from rdcnlab.scenario.ranges import MOST_ITEMS, names
from rdcnlab.scenario.timetable import Path
from rdcnlab.scenario.user_file import DIRECTORY, NamedFile, digest_of

#: Most words of a command line, as in ``tools/programs.c``.
MAX_WORDS = 256
#: Most programs of a scenario.
MAX_PROGRAMS = 1024
#: Most files of a program.
MAX_FILES = 1000
#: Bytes of all files of a program together; the guest keeps them in memory.
MOST_GIVEN = 512_000_000
#: Bytes that all programs of a run may write to files, output included.
MOST_WRITTEN = 16_000_000

CommandLine = Annotated[
    str,
    text(
        "[!-~][ -~]{0,3999}",
        "a command line: 1 to 4000 printable ASCII characters on one line, the first not a blank",
    ),
]
_MISSING = FileNotFoundError(errno.ENOENT, "no such file")
_FILES = "a file, a directory or a pattern of files"
_RANGE = re.compile(r"\b[A-Za-z][A-Za-z0-9_]*\[[0-9]{1,4}-[0-9]{1,4}\]")


class Program(Frozen):
    """A program that runs in a host: it is unchanged, and its clock and network are those of the scenario.

    Parameters
    ----------
    name : str
        Unique in the scenario. By default the name of the host; of a second program there, ``h1.2``.
    host : str
        Name of the host. In plain data ``h[2-9]`` stands for eight programs; ranges of hosts in `run` advance together
        with it.
    run : str
        The command line. It is split as a shell splits it, and no shell interprets it. The first word is an installed
        program, or a file beside the scenario's file, such as ``./client.py``. ``{h1}`` stands for the address of the
        host h1, and programs find all hosts by their names, too.
    start : int
        ns after the start of the scenario at which the program starts.
    background : bool
        Whether the run ends without waiting for the program, as for a server. Otherwise the run ends when this program
        has ended, at the latest at `Scenario.limit`.
    cc : str or None
        Congestion control that connections of the host have unless a program chooses another one; None: cubic. All
        programs of a host must have the same value.
    path : str or tuple of Slot
        The way of all packets that programs of this host send, as `Flow.path`. All programs of a host must have the
        same value.
    files : tuple of NamedFile
        Files that the program finds in its working directory. In plain data, paths relative to the scenario's file;
        ``www/*.html`` names several, and a directory names all files in it. Files beside the scenario's file that
        `run` names need not be listed.

    Notes
    -----
    Programs of a host share its working directory, its names and its processes. They are not root: they have the rights
    to use the host's network, also privileged ports. They may write `MOST_WRITTEN` bytes to files.

    Examples
    --------
    >>> Program(name="web", host="h1", run="python3 -m http.server 80", path="bypass").words
    ('python3', '-m', 'http.server', '80')
    """

    name: FlowName
    host: HostName
    run: CommandLine
    start: Duration = 0
    background: bool = False
    cc: str | None = None
    path: Path
    files: Annotated[tuple[NamedFile, ...], Listed] = ()

    @model_validator(mode="before")
    @classmethod
    def _with_files(cls, data: Any, info: ValidationInfo) -> Any:
        """Read the files that text names; canonical data have them already."""
        if not isinstance(data, dict) or not isinstance(data.get("run"), str):
            return data
        given = data.get("files", [])
        if not isinstance(given, list | tuple):
            return data
        # canonical data always have the field, with digests
        if "files" in data and not any(isinstance(item, str) for item in given):
            return data
        directory = FilePath((info.context or {}).get(DIRECTORY) or ".").absolute()
        files = {path.relative_to(directory).as_posix(): path for path in _named(data["run"], directory)}
        named = frozenset(files)
        for index, item in enumerate(given):
            if isinstance(item, str):
                files |= {path.relative_to(directory).as_posix(): path for path in _listed(item, directory, index)}
        if len(files) > MAX_FILES:
            raise FieldError("files", len(files), f"at most {MAX_FILES} files")
        size = sum(path.stat().st_size for path in files.values())
        if size > MOST_GIVEN:
            raise FieldError("files", f"{size} bytes", f"files of at most {MOST_GIVEN // 10**6} MB together")
        read = [
            {"path": str(path), "name": name, "sha256": digest_of(path, GIVEN, "run" if name in named else "files")}
            for name, path in sorted(files.items())
        ]
        return {**data, "files": [*(item for item in given if not isinstance(item, str)), *read]}

    @model_validator(mode="after")
    def _can_be_split(self) -> Program:
        try:
            count = len(shlex.split(self.run))
        except ValueError as error:
            raise FieldError(
                "run", self.run, "a command line with closed quotation marks", reason=_fault(error)
            ) from None
        if not 1 <= count <= MAX_WORDS:
            raise FieldError("run", self.run, f"a command line of 1 to {MAX_WORDS} words")
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the command line, with the names of hosts in braces."""
        return tuple(shlex.split(self.run))

    def command(self, addresses: Mapping[str, str]) -> tuple[str, ...]:
        """Return the words of the command line, with the address of a host in place of its name in braces."""
        pattern = re.compile(r"\{(" + "|".join(map(re.escape, addresses)) + r")\}")
        return tuple(pattern.sub(lambda match: addresses[match[1]], word) for word in self.words)


def _fault(error: ValueError) -> str:
    return {"No closing quotation": "a quotation mark is not closed", "No escaped character": "it ends with a \\"}.get(
        str(error), str(error)
    )


def _named(line: str, directory: FilePath) -> Iterator[FilePath]:
    """Yield the files beside the scenario's file that a command line names, also after a ``=``."""
    try:
        words = shlex.split(line)
    except ValueError:
        return
    for index, word in enumerate(words):
        for part in dict.fromkeys((word, word.partition("=")[2])):
            path = directory / part.removeprefix("./")
            if _is_beside(part) and is_file(path):
                yield path
        if index == 0 and word.startswith(("./", "../")) and not (_is_beside(word) and is_file(directory / word)):
            path = directory / word
            reason = f"'{word}' is not beside the file" if is_there(path) else unreadable(path, _MISSING)
            raise FieldError("run", word, "a program, or a file beside the scenario's file", reason=reason)


def _is_beside(name: str) -> bool:
    return bool(name) and not name.startswith(("/", "~", "-")) and ".." not in FilePath(name).parts


def _listed(name: str, directory: FilePath, index: int) -> Iterator[FilePath]:
    """Yield the files that an item of `Program.files` names: a file, all files of a directory, or a pattern."""
    if not _is_beside(name):
        reason = f"'{name}' is not beside the scenario's file, or below"
        raise FieldError(f"files[{index}]", name, "a relative path without ..", reason=reason)
    whole = directory / name
    try:
        if is_there(whole) and whole.is_dir():
            paths = [path for path in files_below(whole) if "__pycache__" not in path.parts]
        else:
            paths = [whole] if is_file(whole) else _matching(directory, name)
    except OSError as error:
        raise FieldError(f"files[{index}]", name, _FILES, reason=unreadable(whole, error)) from None
    if not paths:
        reason = unreadable(whole, _MISSING)
        raise FieldError(f"files[{index}]", name, _FILES, reason=reason)
    yield from paths


def _matching(directory: FilePath, pattern: str) -> list[FilePath]:
    try:
        return files_below(directory, pattern)
    except Refused:
        raise
    except OSError:  # too long for a name
        return []


def expanded(items: Any, hosts: Sequence[str]) -> Any:
    """Return the plain data of programs, in which each is one program with a name.

    Parameters
    ----------
    items : list
        The programs, as read from plain data.
    hosts : sequence of str
        Names of the network's hosts.
    """
    if not isinstance(items, list | tuple):
        return items
    each: list[Any] = []
    for item in items:
        each += _expanded_item(item, hosts)
        if len(each) > MOST_ITEMS:
            raise InputError.of("programs", f"more than {MOST_ITEMS} programs", f"at most {MAX_PROGRAMS}")
    taken = {item["name"] for item in each if isinstance(item, dict) and isinstance(item.get("name"), str)}
    for item in each:
        if isinstance(item, dict) and "name" not in item and isinstance(item.get("host"), str):
            number = 1
            while (name := item["host"] if number == 1 else f"{item['host']}.{number}") in taken:
                number += 1
            item["name"] = name
            taken.add(name)
    return each


def _expanded_item(item: Any, hosts: Sequence[str]) -> list[Any]:
    if not isinstance(item, dict):
        return [item]
    texts = {key: item[key] for key in ("host", "name", "run") if isinstance(item.get(key), str)}
    members = names(texts.get("host", ""))
    if "host" not in texts or members == [texts["host"]]:
        return [dict(item)]
    parts = []
    for index, host in enumerate(members):
        part = {**item, "host": host}
        if "name" in texts:
            part["name"] = names(texts["name"])[index] if len(names(texts["name"])) == len(members) else texts["name"]
        if "run" in texts:
            part["run"] = _with_member(texts["run"], index, len(members), hosts)
        parts.append(part)
    return parts


def _with_member(line: str, index: int, count: int, hosts: Sequence[str]) -> str:
    """Return a command line with one host in place of each range of hosts; other text in brackets stays as it is."""

    def member(match: re.Match[str]) -> str:
        others = names(match[0])
        return others[index] if len(others) == count and set(others) <= set(hosts) else match[0]

    return _RANGE.sub(member, line)
