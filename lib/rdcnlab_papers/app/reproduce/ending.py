# SPDX-License-Identifier: Apache-2.0
"""What a reproduction of one item ends with: a picture, what it shows, and the next command."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from rdcnlab_papers.app.reproduce.all import Reproduced


def ending(result: Reproduced) -> RenderableType:
    """Return the end of a reproduction for a terminal."""
    lines = [Text(f"{result.sentence}\n")]
    picture = next((path for path in result.figures if path.stem.endswith("-beside")), None)
    if picture is not None:
        lines.append(
            Text.assemble("Picture: ", (str(picture), "bold"), "  (your runs over the range of the shipped ones)")
        )
    lines.append(
        Text.assemble("Next:    ", (next_command(result.notebook), "bold"), "  (change a value, run it again)")
    )
    return Group(*lines)


def next_command(notebook: Path | None) -> str:
    """Return the command that opens a notebook in JupyterLab, as it can be typed here."""
    jupyter = Path(sys.executable).with_name("jupyter")
    here = Path.cwd()
    program = str(jupyter.relative_to(here)) if jupyter.is_relative_to(here) else "jupyter"
    return f"{program} lab {notebook}"
