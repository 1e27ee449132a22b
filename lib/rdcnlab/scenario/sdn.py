# SPDX-License-Identifier: Apache-2.0
"""The user's OpenFlow controller of a scenario: an application of os-ken, one file of Python."""

from __future__ import annotations

from typing import Annotated

from rdcnlab.scenario.user_file import UserFile, from_path


class SdnController(UserFile):
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


ControllerField = Annotated[SdnController | None, from_path(".py", "an application of os-ken, *.py")]
