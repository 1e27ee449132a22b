# SPDX-License-Identifier: Apache-2.0
"""The list of the files of all shipped runs, ``data/results/SHA256SUMS``: no other bytes are read.

It is in Git beside the files. Shipping writes it, and ``tools/index`` adds folders that came by a merge.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from rdcnlab.fields.errors import RunError
from rdcnlab.runs import sums
from rdcnlab.runs.sums import Damaged, Identity

#: The next list, until the files that it lists are in their place.
_NEXT = f".{sums.NAME}.next"


def verified(path: Path) -> Identity:
    """Check that a file, ``<root>/<paper>/<item>/<name>``, is the one that is listed; it is hashed once in a process.

    Returns
    -------
    Identity
        What the file was when it was hashed.

    Raises
    ------
    RunError
        It is damaged or missing. The message has the file and the cure.
    """
    root = path.parents[2]
    try:
        return _verified(root, path)
    except Damaged as damage:
        raise _error(root, damage) from None


@functools.cache
def _verified(root: Path, path: Path) -> Identity:
    listed = _listed(root).get(_name(root, path))
    if listed is None:
        raise Damaged(path, f"is not listed in {root / sums.NAME}")
    return sums.check(path, listed)


def check_complete(root: Path) -> None:
    """Raise RunError unless the files below a directory are those that its list has. Their content is not read."""
    for error in _differences(root):
        raise error


def problems(root: Path) -> Iterator[str]:
    """Hash all shipped files, and yield a sentence for each that is not the one that is listed."""
    for error in _differences(root):
        yield error.reason
    with contextlib.suppress(Damaged):  # the list itself, which was just said
        for name in _listed(root):
            if (root / name).exists():
                try:
                    verified(root / name)
                except RunError as error:
                    yield error.reason


def _differences(root: Path) -> Iterator[RunError]:
    """Yield an error for each file that is missing or not listed."""
    try:
        listed = _listed(root)
    except Damaged as damage:
        yield _error(root, damage)
        return
    present = {_name(root, path) for path in _files(root)}
    for name in sorted(listed):
        if not (root / name).is_file():
            yield _error(root, Damaged(root / name, "is missing"))
    for name in sorted(present - listed.keys()):
        cure = "ship it (rdcnlab ship), list it (tools/index), or remove it"
        yield RunError(f"{root / name} is not listed in {root / sums.NAME}: {cure}")


def count(root: Path) -> int:
    """Return the number of files that are listed."""
    return len(_listed(root))


def prepare(root: Path, folder: Path, files: Iterable[Path]) -> Callable[[], None]:
    """Write the next list, in which a folder has these files, and return the function that puts it in place.

    If the process is killed before that, `finish` does it.
    """
    inside = f"{_name(root, folder)}/"
    listed = {name: digest for name, digest in _present(root).items() if not name.startswith(inside)}
    _write(root, {**listed, **{f"{inside}{path.name}": sums.sha256(path) for path in files}})
    return functools.partial(_replace, root)


def finish(root: Path) -> None:
    """Put the next list of a call that was killed in place, if the files that it lists are in theirs."""
    if not (root / _NEXT).exists():
        return
    try:
        for name, digest in sums.listed(root / _NEXT).items():
            sums.check(root / name, digest)
    except Damaged:
        (root / _NEXT).unlink()
    else:
        _replace(root)


def complete(root: Path) -> bool:
    """List folders that are not listed, and remove those that are gone. Return whether this changed the list.

    No other line is changed: a file that is damaged stays an error.
    """
    listed = _present(root)
    present = {_name(root, path): path for path in _files(root)}
    folders, known = ({Path(name).parent for name in names} for names in (present, listed))
    kept = {name: digest for name, digest in listed.items() if Path(name).parent in folders}
    added = {name: sums.sha256(path) for name, path in present.items() if Path(name).parent not in known}
    if {**kept, **added} == listed:
        return False
    _write(root, {**kept, **added})
    _replace(root)
    forget()
    return True


def forget() -> None:
    """Read lists and files again."""
    _listed.cache_clear()
    _verified.cache_clear()


@functools.cache
def _listed(root: Path) -> Mapping[str, str]:
    path = root / sums.NAME
    if not path.exists() and next(_files(root), None) is None:
        return {}  # no runs are shipped here
    return sums.listed(path)


def _present(root: Path) -> dict[str, str]:
    """Return the list that is to be changed."""
    try:
        return sums.listed(root / sums.NAME) if (root / sums.NAME).exists() else {}
    except Damaged as damage:
        raise _error(root, damage) from None


def _files(root: Path) -> Iterator[Path]:
    # a hidden folder is one that another process is just writing
    for runs in root.glob("[!.]*/[!.]*/runs.parquet"):
        yield from runs.parent.glob("*.parquet")


def _name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def _write(root: Path, listed: Mapping[str, str]) -> None:
    (root / _NEXT).write_bytes(sums.listing(listed))


def _replace(root: Path) -> None:
    (root / _NEXT).replace(root / sums.NAME)


def _error(root: Path, damage: Damaged) -> RunError:
    """Return the sentence for a damaged file of the shipped results, with its cure."""
    if any((parent / ".git").exists() for parent in root.absolute().parents):
        cure = f"Bring it back: git checkout -- {root}"
    else:
        cure = "Install rdcnlab again (pip install --force-reinstall), or copy the directory again"
    list_too = "" if damage.what != "is damaged" else f", or {root / sums.NAME}"
    return RunError(f"the shipped results are not what was shipped: {damage}{list_too}. {cure}")
