# SPDX-License-Identifier: Apache-2.0
"""Files of scenarios: their data, the line of each field, and what is wrong with a file that cannot be read."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from rdcnlab.fields import input_file
from rdcnlab.fields.errors import WHOLE, InputError
from rdcnlab.fields.files import unreadable
from rdcnlab.scenario.ranges import MOST_ITEMS, names

#: Characters from which on a file is read with libyaml.
_LONG = 100_000
_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


@dataclass(frozen=True)
class Document:
    """A file of a scenario.

    Parameters
    ----------
    path : Path
        Path of the file.
    data : object
        Its content as plain data.
    root : yaml.Node or None
        The tree of nodes, which know their lines; None for JSON.
    """

    path: Path
    data: Any
    root: yaml.Node | None = None
    _parts: dict[yaml.Node, dict[int | str, yaml.Node]] = field(default_factory=dict, compare=False, repr=False)

    def line(self, path: str) -> int | None:
        """Return the line of a field, or of the innermost part of its path that the file has; None if it has none.

        Parameters
        ----------
        path : str
            Path of the field, such as ``flows[1].path[0].duration`` or ``network.links.green.rate``.
        """
        node, line = self.root, None
        if node is not None and not isinstance(node, yaml.MappingNode):
            return node.start_mark.line + 1
        for number, name in _PART.findall(path):
            entry = self._entry(node, int(number) if number else name)
            if entry is None:
                break
            mark, node = entry
            line = mark.start_mark.line + 1
        return line

    def location(self, path: str) -> str:
        """Return the file and the line of a field in words; see `line`."""
        line = self.line(path)
        return str(self.path) if line is None else f"{self.path}, line {line}"

    def _entry(self, node: yaml.Node | None, part: int | str) -> tuple[yaml.Node, yaml.Node] | None:
        """Return the node that shows where a part of a node begins, and the part; None if there is no such part."""
        if isinstance(node, yaml.MappingNode) and isinstance(part, str):
            return next(((key, value) for key, value in node.value if key.value == part), None)
        if not isinstance(node, yaml.SequenceNode):
            return None
        if node not in self._parts:
            self._parts[node] = _parts_of(node)
        item = self._parts[node].get(part)
        return None if item is None else (item, item)


def _parts_of(node: yaml.SequenceNode) -> dict[int | str, yaml.Node]:
    """Return the items of a list by their places and names."""
    nodes: dict[int | str, yaml.Node] = {}
    place = 0
    for item in node.value:
        # one item of a file may stand for several, as with the name h[1-6]
        name = _name(item)
        here = [""] if name is None else names(name)
        for part in (name, *here) if name is not None else ("",):
            nodes.setdefault(part, item)
        for _ in here:
            nodes[place] = item
            place += 1
        if place > MOST_ITEMS:
            break
    return nodes


def _name(node: yaml.Node) -> str | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "name" and isinstance(value, yaml.ScalarNode):
                return str(value.value)
    return None


class _Strict(yaml.constructor.SafeConstructor):
    """A reader of YAML that refuses a mapping with two equal keys, and in which ``on`` as a key is a name."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                line = key.start_mark.line + 1
                if key.value in lines:
                    first = lines[key.value]
                    where = f", in line {first} and in line {line}" if first != line else " in this line"
                    raise _Fault(f"'{key.value}' occurs twice{where}; remove one of them", line)
                lines[key.value] = line
                if key.tag == "tag:yaml.org,2002:bool":
                    key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep=deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            # besides its own errors, the reader raises some of Python's errors for malformed scalars and keys
            if isinstance(error, _Fault):
                raise
            text = f" '{node.value[:40]}'" if isinstance(node, yaml.ScalarNode) else ""
            message = "is a number with too many digits" if "digits" in str(error) else f"cannot be read ({error})"
            raise _Fault(f"the value{text} {message}", node.start_mark.line + 1) from None


class _Loader(_Strict, yaml.SafeLoader):
    """The reader in Python."""


class _FastLoader(_Strict, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The reader with libyaml. It takes a sixth of the time, and says less of what is wrong."""


class _Fault(ValueError):
    """Something in a YAML file that cannot be read, and its line."""

    def __init__(self, reason: str, line: int) -> None:
        self.line = line
        super().__init__(reason)


def read(path: Path) -> Document:
    """Read a YAML file, or a JSON file if its name ends in ``.json``.

    Raises
    ------
    InputError
        The file cannot be read, is not text, or is not YAML. The message names the line.
    """
    try:
        bound = input_file.STORED if path.suffix == ".json" else input_file.SCENARIO
        content = input_file.read(path, bound)
    except OSError as error:
        raise InputError.of(WHOLE, str(path), "a file that can be read", reason=unreadable(path, error)) from None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise _wrong(path, line, "this is not a text file (in UTF-8); a scenario is a YAML file") from None
    if not text.strip():
        raise _wrong(path, None, "the file is empty; write at least network: and flows:")
    try:
        if path.suffix == ".json":
            return Document(path, json.loads(text))
        return _parsed(path, text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _wrong(path, None if mark is None else mark.line + 1, _fault(error, text)) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise _wrong(path, line, f"the character {chr(int(error.character))!r} is not possible in YAML") from None
    except json.JSONDecodeError as error:
        raise _wrong(path, error.lineno, f"this is not JSON: {error.msg}") from None
    except _Fault as error:
        raise _wrong(path, error.line, str(error)) from None
    except RecursionError:
        raise _wrong(path, None, "its parts are nested too deeply") from None
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise _wrong(path, None, f"it contains a value that cannot be read ({' '.join(str(error).split())})") from None


def _parsed(path: Path, text: str) -> Document:
    reader: Any = _Loader if len(text) < _LONG else _FastLoader
    loader = reader(text)
    try:
        root = loader.get_single_node()
        return Document(path, None if root is None else loader.construct_document(root), root)
    finally:
        loader.dispose()


def _wrong(path: Path, line: int | None, reason: str) -> InputError:
    error = InputError.of(WHOLE, str(path), "YAML text", reason=reason)
    return error.located(lambda _: str(path) if line is None else f"{path}, line {line}")


def _fault(error: yaml.MarkedYAMLError, text: str) -> str:
    """Return in words what the YAML reader did not expect."""
    mark = error.problem_mark or error.context_mark
    lines = text.splitlines()
    line = lines[mark.line] if mark is not None and mark.line < len(lines) else ""
    quoted = f" '{line.strip()[:60]}'" if line.strip() else ""
    problem, context = error.problem or "", error.context or ""
    opened = None if error.context_mark is None else error.context_mark.line + 1
    if "\t" in line[: len(line) - len(line.lstrip())] or "'\\t'" in problem:
        return "the line begins with a tab; YAML wants spaces"
    if "mapping values are not allowed" in problem:
        return f"the line{quoted} is indented too far, or the line before it is not complete"
    if "expected <block end>" in problem:
        return f"the line{quoted} is not indented as the lines before it; begin it in the same column as its neighbours"
    if "flow mapping" in context or "flow sequence" in context:
        bracket = "{" if "mapping" in context else "["
        return f"a '{bracket}' that is opened in line {opened} is not closed, or a comma is missing"
    if "quoted scalar" in context:
        return f"a quotation mark that is opened in line {opened} is not closed"
    if "could not find expected ':'" in problem:
        return f"the line{quoted} lacks a colon with a space after it, or is indented differently from its neighbours"
    if "undefined alias" in problem:
        return f"{problem}; '*NAME' needs an '&NAME' before it"
    message = " ".join(part for part in (problem, context) if part)
    return f"the YAML is not correct: {message}"
