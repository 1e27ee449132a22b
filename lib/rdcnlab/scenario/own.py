# SPDX-License-Identifier: Apache-2.0
"""The user's own congestion control of a scenario: one C file, which is built into the kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import ValidationInfo, model_validator

from rdcnlab.fields import input_file
from rdcnlab.fields.files import is_there
from rdcnlab.fields.quantities import FieldError, Frozen, Listed, text
from rdcnlab.scenario.congestion import VARIANTS
from rdcnlab.scenario.flow import NAME_ALLOWED, NAME_PATTERN
from rdcnlab.scenario.user_file import DIRECTORY, NamedFile, UserFile, digest_of, from_path

#: Most files of a congestion control.
MOST_FILES = 100
#: Names that the kernel has besides `VARIANTS`.
_TAKEN = (*VARIANTS, "dctcp-reno")
#: Operations without which the kernel refuses the registration at boot (`tcp_validate_congestion_control`); of the last
#: two it needs one.
_NEEDED = (("ssthresh",), ("undo_cwnd",), ("cong_avoid", "cong_control"))


class OwnAlgorithm(UserFile):
    """A congestion control of the user's own, one C file for ``net/ipv4``; text form: its path.

    Parameters
    ----------
    name : str
        Name that the file registers. Flows use it as their ``cc``.
    """

    name: Annotated[str, text(NAME_PATTERN, NAME_ALLOWED)]


class OwnSources(Frozen):
    """A congestion control of the user's own in several files; text form: the path of its directory, or of its C file.

    Parameters
    ----------
    name : str
        Name that one of the files registers. Flows use it as their ``cc``.
    files : tuple of NamedFile
        All ``*.c`` and ``*.h`` of the directory. They are compiled and linked together.
    """

    name: Annotated[str, text(NAME_PATTERN, NAME_ALLOWED)]
    files: Annotated[tuple[NamedFile, ...], Listed]

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, str):
            return data
        path = Path((info.context or {}).get(DIRECTORY) or ".").absolute() / data
        files = [path]
        if is_there(path) and path.is_dir():
            files = [file for file in input_file.files_below(path, "*") if file.suffix in (".c", ".h")]
            if len(files) > MOST_FILES:
                raise FieldError("", data, f"a directory of at most {MOST_FILES} files *.c and *.h")
        elif path.suffix != ".c":
            raise FieldError(
                "", data, "a congestion control for the kernel: a file *.c, or a directory with such files"
            )
        read = [{"path": str(file), "name": file.name, "sha256": digest_of(file, input_file.CODE)} for file in files]
        texts = [_text(file) for file in files if file.suffix == ".c"]
        registering = [content for content in texts if "tcp_register_congestion_control" in content]
        if len(registering) != 1:
            allowed = "a directory in which one *.c registers a congestion control"
            reason = f"{len(registering)} files in '{data}' register a congestion control; one must"
            raise FieldError("", data, allowed, reason=reason)
        return {"name": registered_name(registering[0], whole=len(texts) == 1), "files": read}


def _text(file: Path) -> str:
    return input_file.read(file, input_file.CODE).decode(errors="replace")


def registered_name(source: str, *, whole: bool = True) -> str:
    """Return the name of the congestion control that a C file registers.

    Parameters
    ----------
    source : str
        The file's text.
    whole : bool
        Whether the file is the only one; otherwise other files may have its operations.

    Raises
    ------
    ValueError
        The file registers none or several, or its name cannot be used. The message says what is allowed.

    Examples
    --------
    >>> operations = (
    ...     "static struct tcp_congestion_ops mine = {"
    ...     '.ssthresh = f, .cong_avoid = g, .undo_cwnd = h, .name = "mine", };'
    ... )
    >>> start = "static int __init start(void) { return tcp_register_congestion_control(&mine); }"
    >>> registered_name(operations + start + "module_init(start);")
    'mine'
    """
    code = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL)
    calls = list(dict.fromkeys(re.findall(r"\btcp_register_congestion_control\s*\(\s*&\s*(\w+)\s*\)", code)))
    if len(calls) != 1:
        cause = f"it registers {', '.join(calls)}" if calls else "it registers none"
        raise ValueError(
            "a C file that registers one congestion control with tcp_register_congestion_control(&its_operations); "
            + cause
        )
    body = re.search(rf"\bstruct\s+tcp_congestion_ops\s+{calls[0]}\b[^;{{]*=\s*\{{(.*?)\}}\s*;", code, re.DOTALL)
    name = re.search(r'\.name\s*=\s*"([^"]*)"', body[1]) if body else None
    if body is None or name is None:
        raise ValueError(f'a C file with "struct tcp_congestion_ops {calls[0]} = {{ ... .name = "yours", }};"')
    if name[1] in _TAKEN:
        raise ValueError(f"a C file whose congestion control has another name than {name[1]}, which the kernel has")
    if not re.fullmatch(NAME_PATTERN, name[1]):
        raise ValueError(f'a C file whose congestion control has as .name, instead of "{name[1]}", {NAME_ALLOWED}')
    for choice in _NEEDED if whole else ():
        if not any(re.search(rf"\.{operation}\s*=", body[1]) for operation in choice):
            lacking = " or ".join(f".{operation}" for operation in choice)
            raise ValueError(f"a C file whose struct tcp_congestion_ops {calls[0]} has {lacking}, which Linux requires")
    if not re.search(r"\b(?:module_init|\w+_initcall(?:_sync)?)\s*\(", code):
        raise ValueError("a C file that calls its registration at boot, with module_init(its_function)")
    return name[1]


def _named(_path: Path, data: bytes) -> Mapping[str, Any]:
    return {"name": registered_name(data.decode(errors="replace"))}


AlgorithmField = Annotated[OwnAlgorithm | None, from_path(".c", "a congestion control for the kernel, *.c", _named)]
