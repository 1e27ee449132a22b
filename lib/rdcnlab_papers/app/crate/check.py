# SPDX-License-Identifier: Apache-2.0
"""Check a crate: its bytes, a sample of its runs made again here, and its verdicts computed again."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from rdcnlab.fields.errors import InputError, RdcnlabError
from rdcnlab.runs import sums, verify
from rdcnlab.runs.run import Run
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.runs.sums import Damaged
from rdcnlab_papers import select
from rdcnlab_papers.app.crate import layout

#: Processor time that the sample may take, by what its runs took where they were made.
BUDGET_S = 240.0


@dataclass(frozen=True)
class Checked:
    """What a crate's check has found.

    Parameters
    ----------
    name : str
        The item, such as ``aykurt/fig4``.
    files : int
        Number of files that are what the crate lists.
    damages : tuple of str
        A sentence for each file that is not.
    runs : int
        Number of runs in the crate.
    rows : tuple of dict
        The runs that were made again, see `rdcnlab.runs.verify.verify`.
    verdicts : int
        Number of verdicts in the crate.
    other : tuple of str
        A sentence for each that is another one if it is computed from the crate's runs here.
    """

    name: str
    files: int
    damages: tuple[str, ...]
    runs: int = 0
    rows: tuple[dict[str, Any], ...] = ()
    verdicts: int = 0
    other: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether all that was checked is as the crate says, and something was."""
        return not self.damages and not self.other and bool(self.rows) and all(row["same"] for row in self.rows)

    def __str__(self) -> str:
        files = f"files: {self.files} are those that the crate lists"
        lines = [files if not self.damages else f"{files}, {len(self.damages)} are not", *self.damages]
        if not self.damages:
            same = sum(row["same"] for row in self.rows)
            lines += [
                f"runs: {len(self.rows)} of {self.runs} were made again here, {same} with the same bytes",
                f"verdicts: {self.verdicts - len(self.other)} of {self.verdicts} are the same, from these runs here",
                *self.other,
            ]
        return "\n".join([*lines, f"{self.name}: {'the crate holds' if self.holds else 'the crate does not hold'}"])


@dataclass(frozen=True)
class Stated:
    """The verdicts of a crate in one column, by the claim's id."""

    column: str
    profile: str
    verdicts: dict[str, str]


def check(
    path: Path,
    *,
    sample: int = 20,
    seed: int = 0,
    workers: int | None = None,
    cluster: Any = None,
    progress: bool = True,
) -> Checked:
    """Check a crate.

    Parameters
    ----------
    path : Path
        The archive, or the directory that it was unpacked to.
    sample : int
        Number of runs that are made again, at most. There are fewer if these took longer than `BUDGET_S` on each core.
    seed : int
        A different seed chooses different runs.
    workers, cluster
        Where the runs are made, see `rdcnlab.runs.campaign.campaign`.
    progress : bool
        Whether to show the progress of the runs.

    Raises
    ------
    InputError
        The path is no crate of rdcnlab.
    """
    with _unpacked(path) as root:
        files, damages = _bytes(path, root)
        if damages:
            return Checked(path.name, files, damages)
        store = Store(root / ".none", shipped=Shipped(root / layout.RESULTS))
        name, columns = _verdicts(path, root)
        runs = [run for run in verify.sample(store, len(store.shipped), seed) if isinstance(run, Run)]
        chosen = _affordable(runs, sample, workers or len(os.sched_getaffinity(0)))
        rows = verify.verify(chosen, workers=workers, cluster=cluster, progress=progress)
        other = tuple(_other(name, columns, store))
        return Checked(name, files, (), len(runs), tuple(rows), sum(len(one.verdicts) for one in columns), other)


def _affordable(runs: list[Run], sample: int, cores: int) -> list[Run]:
    """Choose the first runs of a random order, as many as the budget allows, and at least one."""
    chosen: list[Run] = []
    left = BUDGET_S * cores
    for run in runs:
        needed = float(run.provenance.get("wall_s") or 10.0)
        if len(chosen) < sample and needed <= left:
            chosen.append(run)
            left -= needed
    return chosen or runs[:1]


@contextlib.contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="rdcnlab-crate-") as scratch:
        root = Path(scratch)
        try:
            with zipfile.ZipFile(path) as archive:
                _unpack(path, archive, root)
        except (OSError, zipfile.BadZipFile, NotImplementedError, EOFError, zipfile.LargeZipFile) as error:
            raise _no_crate(path, str(error)) from None
        yield root


def _unpack(path: Path, archive: zipfile.ZipFile, root: Path) -> None:
    """Unpack regular files below a directory, as many bytes as a crate may have: an archive may state anything."""
    entries = archive.infolist()
    if len(entries) > layout.MOST_FILES or sum(entry.file_size for entry in entries) > layout.MOST_B:
        raise _no_crate(path, f"it has more than {layout.MOST_FILES} files or {layout.MOST_B} bytes")
    for entry in entries:
        name = PurePosixPath(entry.filename)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if name.is_absolute() or ".." in name.parts or kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _no_crate(path, f"'{entry.filename}' is no file below its directory")
        if entry.is_dir():
            continue
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("xb") as file:
            shutil.copyfileobj(source, file)  # no more than the size that the entry states


def _bytes(path: Path, root: Path) -> tuple[int, tuple[str, ...]]:
    """Return the number of files that are what the list says, and a sentence for each that is not."""
    try:
        listed = sums.listed(root / sums.NAME)
    except Damaged as damage:
        raise _no_crate(path, f"its {sums.NAME} {damage.what}") from None
    names = {file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file()} - {sums.NAME}
    damages = [f"{name} is not listed in {sums.NAME}" for name in sorted(names - listed.keys())]
    for name, digest in sorted(listed.items()):
        try:
            if ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
                raise Damaged(Path(name), "is no file below the crate's directory")
            sums.check(root / name, digest)
        except Damaged as damage:
            damages.append(f"{name} {damage.what}")
    return len(listed) + len(names - listed.keys()) - len(damages), tuple(damages)


def _verdicts(path: Path, root: Path) -> tuple[str, list[Stated]]:
    """Return the name of the item, and the stored verdicts of each column by claim."""
    try:
        columns = json.loads((root / layout.VERDICTS).read_bytes())
        (name,) = {f"{row['paper']}/{row['item']}" for one in columns for row in one["rows"]}
        stated = [
            Stated(
                str(one["column"]),
                str(one["profile"]),
                {str(row["claim"]): str(row["verdict"]) for row in one["rows"]},
            )
            for one in columns
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _no_crate(path, f"its {layout.VERDICTS} cannot be read: {error!r}") from None
    return name, stated


def _other(name: str, columns: list[Stated], store: Store) -> Iterator[str]:
    """Yield a sentence for each verdict that is another one here."""
    (kind,) = select([name])
    for one in columns:
        where = f"{name}, {one.column}"
        try:
            item = kind(profile=one.profile, column=one.column)
            runs = item.stored_runs(store)
            rows = [] if runs is None else item.rows(runs)
        except RdcnlabError as error:
            yield f"{where}: {error}"
            continue
        if runs is None:
            yield f"{where}: the crate lacks runs that this version of rdcnlab needs"
            continue
        here = {row.claim: row.verdict for row in rows}
        for claim, stated in one.verdicts.items():
            verdict = here.get(claim, "no such claim")
            if verdict != stated:
                yield f"{where}, {claim}: {stated} in the crate, {verdict} here"


def _no_crate(path: Path, reason: str) -> InputError:
    said = f"'{path}' is no crate: {reason}; `rdcnlab export ITEM --format ro-crate` writes one"
    return InputError.of("CRATE", str(path), "a crate, as an archive or unpacked", reason=said)
