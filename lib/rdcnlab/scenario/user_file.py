# SPDX-License-Identifier: Apache-2.0
"""A file of the user's own that a scenario names: it is read when the scenario is made, and must stay what it was."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo

from rdcnlab.fields import input_file
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.files import unreadable
from rdcnlab.fields.input_file import CODE, Bound
from rdcnlab.fields.quantities import FieldError, Frozen, text

#: Key of the validation context: the directory of the scenario's file.
DIRECTORY = "directory"


class UserFile(Frozen):
    """A file; text form: its path.

    Parameters
    ----------
    path : str
        Path of the file. A relative path starts at the directory of the scenario's file, or in Python at the working
        directory.
    sha256 : str
        SHA-256 of the file's bytes. The scenario's hash contains this value, not the path. The file must not change
        before it is used.
    """

    path: str
    sha256: Annotated[str, text("[0-9a-f]{64}", "64 hexadecimal digits in lower case")]

    def content(self, field: str) -> bytes:
        """Return the bytes of the file.

        Parameters
        ----------
        field : str
            The scenario's field, for the message.

        Raises
        ------
        InputError
            The file cannot be read, or differs from the file that the scenario was made with.
        """
        try:
            data = input_file.read(Path(self.path), input_file.GIVEN)
        except OSError as error:
            raise InputError.of(field, self.path, reason=unreadable(Path(self.path), error)) from None
        if hashlib.sha256(data).hexdigest() != self.sha256:
            reason = f"'{self.path}' has changed; it is not the file the scenario was made with, sha256 {self.sha256}"
            raise InputError.of(field, self.path, "the same file as before", reason=reason)
        return data


class NamedFile(UserFile):
    """A file of several that belong together.

    Parameters
    ----------
    name : str
        Its path among the others, relative.
    """

    name: str


def digest_of(path: Path, bound: Bound, field: str = "") -> str:
    """Return the SHA-256 of a file in hexadecimal; `field` is the one that names it.

    Raises
    ------
    FieldError
        The file cannot be read.
    """
    try:
        return input_file.sha256(path, bound)
    except OSError as error:
        raise FieldError(
            field, str(path), f"a file that can be read ({path})", reason=unreadable(path, error)
        ) from None


def from_path(
    suffix: str | tuple[str, ...],
    allowed: str,
    examine: Callable[[Path, bytes], Mapping[str, Any]] | None = None,
    bound: Bound = CODE,
) -> BeforeValidator:
    """Return the validator that makes the fields of a `UserFile` from a path.

    Parameters
    ----------
    suffix : str or tuple of str
        End of the file's name, or possible ends.
    allowed : str
        The files that are allowed, in words.
    examine : callable, optional
        Takes path and content, returns further fields, and raises ValueError with what is allowed.
    bound : Bound
        The largest file.
    """

    def read(value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str):
            return value
        if not value.endswith(suffix):
            raise ValueError(allowed)
        path = Path((info.context or {}).get(DIRECTORY) or ".").absolute() / value
        try:
            data = input_file.read(path, bound)
        except OSError as error:
            raise FieldError("", value, f"a file that can be read ({path})", reason=unreadable(path, error)) from None
        fields = {} if examine is None else examine(path, data)
        return {"path": str(path), "sha256": hashlib.sha256(data).hexdigest(), **fields}

    return BeforeValidator(read)
