# SPDX-License-Identifier: Apache-2.0
"""The user's OpenFlow controller of a scenario: an application of os-ken, one file of Python."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo

from rdcnlab.fields.quantities import Frozen, text
from rdcnlab.scenario.p4 import DIRECTORY


class SdnController(Frozen):
    """An application of os-ken; text form: its path.

    Parameters
    ----------
    path : str
        Path of the file. A relative path starts at the directory of the scenario's file, or in Python at the working
        directory.
    sha256 : str
        SHA-256 of the file's bytes. The scenario's hash contains this value, not the path. The file must not change
        before the run.
    """

    path: str
    sha256: Annotated[str, text("[0-9a-f]{64}", "64 hexadecimal digits in lower case")]


def _read_controller(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        return value
    if not value.endswith(".py"):
        raise ValueError("an application of os-ken, *.py")
    path = Path((info.context or {}).get(DIRECTORY) or ".").absolute() / value
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"a file that can be read ({path}: {error.strerror})") from None
    return {"path": str(path), "sha256": hashlib.sha256(data).hexdigest()}


ControllerField = Annotated[SdnController | None, BeforeValidator(_read_controller)]
