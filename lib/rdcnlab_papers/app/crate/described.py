# SPDX-License-Identifier: Apache-2.0
"""The metadata of a crate, by the library rocrate: what each file is, what made it, who wrote the paper."""

from __future__ import annotations

import datetime
import os
import re
from importlib import metadata
from pathlib import Path
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from rdcnlab.analysis.publication import reference
from rdcnlab.fields.errors import InputError
from rdcnlab.runs import sums
from rdcnlab.runs.run import Run
from rdcnlab_papers.app.crate import layout
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.item import Item

_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_LICENCE = "https://spdx.org/licenses/Apache-2.0"
_FORMATS = {
    ".parquet": "application/vnd.apache.parquet", ".json": "application/json", ".png": "image/png",
    ".pdf": "application/pdf", ".bib": "application/x-bibtex", ".cff": "application/yaml", "": "text/plain",
    ".lock": "text/plain",
}  # fmt: skip
_WHAT = {
    layout.SCENARIOS: "Scenarios of all runs, by their hash",
    layout.VERDICTS: "Claims of the paper, with what was measured and the verdict, for each column",
    layout.VERSIONS: "Kernels and engines that made the runs, and packages that judged them",
    layout.LOCK: "Lock of the Python packages",
    "LICENSE": "Licence",
    "CITATION.cff": "How to cite rdcnlab and the paper",
    "runs.parquet": "Runs: scenario, how it was made, digests of its tables",
    sums.NAME: "SHA-256 of the files of the runs",
}


def describe(root: Path, items: list[Item], runs: list[Run]) -> None:
    """Write the metadata of the crate below a directory, in which all other files are.

    Parameters
    ----------
    root : Path
        The directory.
    items : list of Item
        The item, once for each column.
    runs : list of Run
        The runs.

    Raises
    ------
    InputError
        ``$SOURCE_DATE_EPOCH`` is no number.
    """
    item = items[0]
    crate: Any = ROCrate(version="1.1", gen_preview=True)
    crate.name = f"{item.paper}/{item.id}: {item.claims.title}"
    crate.description = (
        f"{len(runs)} runs of rdcnlab, which reproduces {item.claims.title} of the paper "
        f"'{claims.paper(item.paper).title}'; columns: {', '.join(one.column for one in items)}. "
        "The command `rdcnlab verify` checks it and makes runs of it again."
    )
    crate.datePublished = _today()
    crate.license = crate.add(_entity(crate, _LICENCE, "CreativeWork", name="Apache-2.0"))
    profile = crate.add(_entity(crate, _PROFILE, "CreativeWork", name="Process Run Crate", version="0.5"))
    crate.root_dataset["conformsTo"] = profile
    software = _software(crate)
    crate.root_dataset["publisher"] = crate.add(
        _entity(crate, "#authors", "Organization", name="The authors of rdcnlab")
    )
    crate.root_dataset["citation"] = _paper(crate, item.paper)
    files = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = path.relative_to(root).as_posix()
        properties = {
            "name": _WHAT.get(path.name) or _what(path),
            "encodingFormat": _FORMATS.get(path.suffix, "application/octet-stream"),
            "contentSize": str(path.stat().st_size),
            "sha256": sums.sha256(path),
        }
        files[name] = crate.add_file(path, name, properties=properties)
    results = [file for name, file in files.items() if name.startswith((f"{layout.RESULTS}/", f"{layout.FIGURES}/"))]
    action = _entity(
        crate, "#runs", "CreateAction", name=f"{len(runs)} runs, and what is computed from them", instrument=software,
        object=[files[layout.SCENARIOS]], result=[*results, files[layout.VERDICTS]],
        actionStatus="http://schema.org/CompletedActionStatus",
    )  # fmt: skip
    crate.root_dataset["mentions"] = [crate.add(action)]
    crate.metadata.write(root)
    crate.preview.write(root)


def _entity(crate: Any, identifier: str, kind: str, **properties: Any) -> Any:
    entity = ContextEntity(crate, identifier, properties={"@type": kind})
    for name, value in properties.items():
        entity[name] = value
    return entity


def _software(crate: Any) -> Any:
    version = metadata.version("rdcnlab")
    return crate.add(
        _entity(
            crate, "#rdcnlab", "SoftwareApplication", name="rdcnlab", version=version, softwareVersion=version,
            license={"@id": _LICENCE},
        )
    )  # fmt: skip


def _paper(crate: Any, name: str) -> Any:
    """Return the paper, with its authors."""
    entry = reference(claims.paper(name).title)
    authors = []
    for author in entry["authors"]:
        full = f"{author.get('given-names', '')} {author.get('family-names', author.get('name', ''))}".strip()
        identifier = "#" + re.sub(r"\W+", "-", full).lower()
        authors.append(crate.add(_entity(crate, identifier, "Person", name=full)))
    stated = {key: entry[key] for key in ("url", "doi") if key in entry}
    paper = _entity(crate, f"#paper-{name}", "ScholarlyArticle", name=entry["title"], author=authors, **stated)
    if "year" in entry:
        paper["datePublished"] = str(entry["year"])
    return crate.add(paper)


def _what(path: Path) -> str:
    if path.suffix == ".parquet":
        return f"Table {path.stem} of all runs"
    if path.suffix == ".bib":
        return "References of the figure"
    return f"Figure, {path.stem}"


def _today() -> str:
    """Return the day, of the environment's ``SOURCE_DATE_EPOCH`` where a build is to have equal bytes."""
    text = os.environ.get("SOURCE_DATE_EPOCH")
    if text is None:
        return datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        return datetime.datetime.fromtimestamp(int(text), datetime.UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        raise InputError.of("SOURCE_DATE_EPOCH", text, "seconds since 1970") from None
