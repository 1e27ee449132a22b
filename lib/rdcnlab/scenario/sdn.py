# SPDX-License-Identifier: Apache-2.0
"""The user's OpenFlow controller of a scenario: an application of os-ken, one file of Python."""

from __future__ import annotations

from typing import Annotated

from rdcnlab.scenario.user_file import UserFile, from_path


class SdnController(UserFile):
    """An application of os-ken; text form: its path."""


ControllerField = Annotated[SdnController | None, from_path(".py", "an application of os-ken, *.py")]
