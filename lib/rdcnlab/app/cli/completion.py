# SPDX-License-Identifier: Apache-2.0
"""What a shell offers after TAB: networks, files of scenarios."""

from __future__ import annotations

from pathlib import Path

from rdcnlab.scenario.presets import known_networks


def scenarios(incomplete: str) -> list[str]:
    """Return directories, and files of YAML."""
    folder, slash, begin = incomplete.rpartition("/")
    there = [path for path in sorted(Path(folder or slash or ".").glob("*")) if path.name.startswith(begin)]
    folders = [f"{folder}{slash}{path.name}/" for path in there if path.is_dir()]
    return folders + [f"{folder}{slash}{path.name}" for path in there if path.suffix in {".yaml", ".yml"}]


def networks(incomplete: str) -> list[str]:
    """Return networks, and files of scenarios."""
    names = sorted(known_networks())
    return [name for name in names if name.startswith(incomplete)] + scenarios(incomplete)
