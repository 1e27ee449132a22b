# SPDX-License-Identifier: Apache-2.0
"""The user's OpenFlow controller of a scenario: an application of os-ken, one file of Python or a directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo

from rdcnlab.fields.files import is_file, is_there, unreadable
from rdcnlab.fields.input_file import CODE, files_below
from rdcnlab.fields.quantities import FieldError, Listed, omit_default, text
from rdcnlab.scenario.user_file import DIRECTORY, NamedFile, UserFile, digest_of

#: Files of a directory, at most.
MOST_FILES = 500
#: Names of the file of a directory that is imported first: that of a package, otherwise the second one.
PACKAGE, MAIN = "__init__.py", "main.py"
_ALLOWED = f"an application of os-ken: a file *.py, or a directory with {PACKAGE} or {MAIN}"
_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_NAME_ALLOWED = "a name of letters, digits and _ that does not begin with a digit"


class SdnController(UserFile):
    """An application of os-ken; text form: the path of its file, or of its directory.

    Parameters
    ----------
    path : str
        The file that is imported first. In a directory it is ``__init__.py``, or without such a file ``main.py``.
    package : str or None
        Name of the package that the directory is, if it has an ``__init__.py``.
    files : tuple of NamedFile
        All other files of the directory, and below it. Modules of a package import each other as
        ``from .paths import best``, those of a directory without ``__init__.py`` as ``import paths``.
    """

    package: Annotated[Annotated[str, text(_NAME, _NAME_ALLOWED)] | None, omit_default] = None
    files: Annotated[tuple[NamedFile, ...], Field(max_length=MOST_FILES), Listed, omit_default] = ()

    @property
    def place(self) -> str:
        """Path of the file, or of the directory of several."""
        path = Path(self.path)
        return str(path.parent if self.package is not None or self.files else path)

    @property
    def label(self) -> str:
        """The name of the file or the directory, for messages and pictures."""
        return Path(self.place).name

    @property
    def every(self) -> tuple[UserFile, ...]:
        """All files, the one that is imported first before the others."""
        return (self, *self.files)

    @property
    def modules(self) -> dict[str, str]:
        """The paths of all modules but the first, by the names under which they are imported."""
        return {name: file.path for file in self.files for name in _module(file.name, self.package)}


def _module(name: str, package: str | None) -> Iterator[str]:
    """Yield the name of the module of a file; nothing if the file is none.

    Examples
    --------
    >>> [*_module("sub/paths.py", "mine")], [*_module("sub/__init__.py", None)], [*_module("table.json", None)]
    (['mine.sub.paths'], ['sub'], [])
    """
    path = Path(name)
    if path.suffix == ".py":
        parts = path.parent.parts if path.name == PACKAGE else path.with_suffix("").parts
        yield ".".join([*([package] if package else []), *parts])


def _read(value: Any, info: ValidationInfo) -> Any:
    """Return the fields of a controller from the path of its file or directory."""
    if not isinstance(value, str):
        return value
    path = Path((info.context or {}).get(DIRECTORY) or ".").absolute() / value
    if not (is_there(path) and path.is_dir()):
        if not value.endswith(".py"):
            raise ValueError(_ALLOWED)
        return {"path": str(path), "sha256": digest_of(path, CODE)}
    path = path.resolve()
    first = next((path / name for name in (PACKAGE, MAIN) if is_file(path / name)), None)
    if first is None:
        raise FieldError("", value, _ALLOWED, reason=f"the directory '{value}' has neither {PACKAGE} nor {MAIN}")
    try:
        others = [file for file in files_below(path) if file != first and _belongs(file, path)]
    except OSError as error:
        raise FieldError("", value, _ALLOWED, reason=unreadable(path, error)) from None
    if len(others) > MOST_FILES:
        raise FieldError("", value, f"a directory of at most {MOST_FILES} files", reason=f"it has {len(others)} files")
    files = [
        {"path": str(one), "name": one.relative_to(path).as_posix(), "sha256": digest_of(one, CODE)} for one in others
    ]
    package = {"package": path.name} if first.name == PACKAGE else {}
    return {"path": str(first), "sha256": digest_of(first, CODE), **package, "files": files}


def _belongs(file: Path, directory: Path) -> bool:
    """Return whether a file below a directory is the user's: neither hidden nor made by Python."""
    parts = file.relative_to(directory).parts
    return "__pycache__" not in parts and not any(part.startswith(".") for part in parts)


ControllerField = Annotated[SdnController | None, BeforeValidator(_read)]
