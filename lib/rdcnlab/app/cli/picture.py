# SPDX-License-Identifier: Apache-2.0
"""The command that shows a scenario: its network and timetables as a picture, in words, or as data."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import typer

from rdcnlab.analysis.show import rows
from rdcnlab.analysis.show.names import readable
from rdcnlab.analysis.show.ways import Shown, data, ways_of
from rdcnlab.app.cli.tools import say_loads, show
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.files import is_file, is_there
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.cautions import cautions
from rdcnlab.scenario.presets import known_networks

#: Formats of pictures: the allowed suffixes of file names.
FORMATS = ("png", "svg", "pdf")
#: Number of bytes at the begin or the end of a picture that contain the name of the program that drew it.
_HEAD = 4096


def draw(name: str, output: Path | None, *, as_json: bool, force: bool) -> None:
    """Draw a scenario and describe it.

    Parameters
    ----------
    name : str
        A file, or the name of a preset network or of a fabric.
    output : Path or None
        File of the picture. None means the scenario's name with ``.png``, in the working directory.
    as_json : bool
        Print ways and timetables as data. Draw a picture only if `output` is given.
    force : bool
        Overwrite a file even if it is not a picture of this command.

    Raises
    ------
    InputError
        There is no such scenario, or the picture cannot be written to its file.
    """
    shown = load(name)
    path = output if output is not None or as_json else Path(f"{Path(name).stem}.png")
    if path is not None:
        check(path, force=force)
    for caution in cautions(shown.scenario) if shown.flows else ():
        typer.echo(f"rdcnlab: warning: {caution}", err=True)
    if as_json:
        typer.echo(json.dumps(data(shown), indent=2))
    else:
        describe(shown)
    if path is not None:
        write(shown, path)
        typer.echo(str(path), err=as_json)


def load(name: str) -> Shown:
    """Read a scenario's file, or take a preset network by its name.

    Raises
    ------
    InputError
        There is no such file and no such network.
    """
    networks = known_networks()
    if not is_file(name) and name in networks:
        return Shown.preset(name)
    if not is_there(name) and Path(name).name == name and not Path(name).suffix:
        raise InputError.unknown("SCENARIO", name, networks, "file or network")
    return Shown.of(Scenario.load(name))


def check(path: Path, *, force: bool, formats: Sequence[str] = FORMATS) -> None:
    """Raise InputError if a picture cannot be written, or would replace a file that rdcnlab did not draw."""
    if path.suffix.lower().removeprefix(".") not in formats:
        suffixes = ", ".join(f".{suffix}" for suffix in formats)
        raise InputError.of("--out", str(path), f"a file that ends in {suffixes}")
    if path.is_dir():
        raise InputError.of("--out", str(path), "a file, not a directory")
    if not path.parent.is_dir():
        raise InputError.of("--out", str(path), f"a file in a directory that exists; {path.parent} does not exist")
    if path.exists() and not path.is_file():
        raise InputError.of("--out", str(path), "a new file, or a regular one, no device or pipe")
    if path.exists() and not force and not _is_ours(path):
        allowed = "a new file, or one that rdcnlab has drawn; --force overwrites any file"
        raise InputError.of("--out", str(path), allowed)


def _is_ours(path: Path) -> bool:
    from rdcnlab.analysis.drawing import SOFTWARE

    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            file.seek(max(0, file.seek(0, os.SEEK_END) - _HEAD))
            content = head + file.read(_HEAD)
    except OSError:
        return False
    # pages of the report name rdcnlab, too
    mark = f'name="generator" content="{SOFTWARE}"' if path.suffix.lower() == ".html" else SOFTWARE
    return mark.encode() in content


def write(shown: Shown, path: Path) -> None:
    """Write the picture of a scenario.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    from rdcnlab.analysis.show.picture import image

    save(path, image(shown, path.suffix.lower().removeprefix(".")))


def save(path: Path, content: bytes) -> None:
    """Write a file; if it cannot be written, the InputError says why."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InputError.of("--out", str(path), f"a file that can be written ({error.strerror})") from None


def describe(shown: Shown) -> None:
    """Print tables of switches, links, hosts, schedules and flows, and the time after which timetables repeat."""
    network = shown.scenario.network
    typer.echo(f"{shown.title}: MTU {network.mtu} B, each frame {network.overhead} B more on the wire\n")
    for title, make in (
        ("switches", rows.switches),
        ("links", rows.links),
        ("hosts", rows.hosts),
        ("schedules", rows.schedules),
        ("slots of schedules", rows.slots),
        ("flows", rows.flows),
    ):
        lines = make(shown)
        if len(lines) > rows.MOST:
            omitted = len(lines) - rows.MOST
            lines = lines[: rows.MOST]
            title += f" (the first {rows.MOST}; --json has {omitted} more)"
        if lines:
            show([dict(row) for row in lines], False, title)
            typer.echo("")
    say_loads(shown.scenario)
    cycles = sorted({way.cycle for way in ways_of(shown) if way.cycle})
    optics = shown.scenario.network.optics
    if optics is not None:
        cycles = [optics.cycle] if len(optics.slots) > 1 else []
        typer.echo(f"circuits: {len(optics.slots)} slots, routing {optics.summary}")
        if optics.demand is not None:
            typer.echo(f"circuits on demand: {optics.demand.summary}")
    if not shown.own_programs:
        words = ", ".join(readable(DURATION, cycle) for cycle in cycles)
        changing = optics is not None and optics.demand is not None
        if cycles or not changing:
            typer.echo(f"cycle: {words}" if cycles else "nothing ever changes")
