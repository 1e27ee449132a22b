# SPDX-License-Identifier: Apache-2.0
"""`Shown`: an item in one column as its page shows it, from its runs or from its executed notebook."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rdcnlab.analysis import figures
from rdcnlab.app import notebook_file
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store
from rdcnlab_papers.analysis import drawn
from rdcnlab_papers.app.gallery import small
from rdcnlab_papers.app.site.stored import explaining_runs
from rdcnlab_papers.items import claims, judged
from rdcnlab_papers.items.causes import Explanation
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.items.judged import JudgedClaim
from rdcnlab_papers.items.scored import ROWS, Scorecard

#: Width and height of small pictures, at most; twice what is shown, for screens with small pixels.
_SMALL_PX = (560, 400)
#: Type of what the last cell of an executed notebook returns, and the cell's code.
_MADE = "application/vnd.rdcnlab.item+json"
_READING = (
    "from rdcnlab_papers.app.site import shown as _shown\n"
    "_shown.InNotebook(item, runs, {_text.strip(): Out.get(_number) for _number, _text in enumerate(In)})"
)
#: Cells of notebooks of items.
_PLOT, _SCORE, _EXPLAIN = "item.plot(runs)", "item.score(runs)", "item.explain(workers=workers)"


@dataclass(frozen=True)
class Shown:
    """An item in one column.

    Parameters
    ----------
    column, title : str
        Id of the column, and the testbed in words.
    profile : str
        Profile of the runs.
    rows : list of JudgedClaim
        The scorecard, as `Item.rows` returns it.
    runs, shipped, wall_s : int, int, float
        Number of runs, how many of them came with the package, and the time that they took on one core, in s.
    engines : list of str
        Identities of the engines that made the runs.
    figure, data : str
        Names of the picture and of the table of drawn numbers, in the entry's directory; empty if there are no runs.
    size : list of int
        Width and height of the picture in pixels.
    alt : str
        The picture in words.
    explained : list of dict
        The experiments on causes, as `Item.explain` returns them: ``claim``, ``because``, ``there``.
    interactive : str
        Name of the file with the content of an interactive page, in the entry's directory; empty if there is none.
    """

    column: str
    title: str
    profile: str
    rows: list[JudgedClaim]
    runs: int = 0
    shipped: int = 0
    wall_s: float = 0.0
    engines: list[str] = field(default_factory=list)
    figure: str = ""
    data: str = ""
    size: list[int] = field(default_factory=lambda: [0, 0])
    alt: str = ""
    explained: list[dict[str, str]] = field(default_factory=list)
    interactive: str = ""


def from_runs(item: Item, runs: Runs | None, store: Store, folder: Path) -> Shown:
    """Draw and judge an item, and write its picture and its table into a directory. Without runs nothing is drawn."""
    if runs is None:
        return Shown(item.column, item.testbed.title, item.profile, item.rows(runs))
    figure = item.plot(runs)
    made = _numbers(figure) | _provenance(runs) | {"rows": item.rows(runs), "explained": []} | _interactive(item, runs)
    buffer = io.BytesIO()
    with figures.style():
        figure.savefig(buffer, format="png", metadata={"Software": None})
    if explaining_runs(item, store) is not None:
        made["explained"] = _causes(item.explain(store=store, progress=False))
    return _written(item, made, buffer.getvalue(), folder)


def from_notebook(item: Item, notebook: Path, store: Store, folder: Path) -> Shown | None:
    """Take what an executed notebook has drawn and judged, and remove the cell of `reading_cell` from it.

    Returns
    -------
    Shown or None
        None if the notebook is about an item with other parameters, or has no cells of the usual form.
    """
    book = notebook_file.read(notebook)
    last = book["cells"].pop()
    notebook_file.write(book, notebook)
    outputs = {"".join(cell["source"]).strip(): cell.get("outputs", []) for cell in book["cells"]}
    made = _of_type(last["outputs"], _MADE)
    picture, rows = _of_type(outputs.get(_PLOT, []), "image/png"), _of_type(outputs.get(_SCORE, []), ROWS)
    if made is None or picture is None or rows is None or made.pop("item") != item.model_dump(mode="json"):
        return None
    if explaining_runs(item, store) is None:
        made["explained"] = []
    return _written(item, made | {"rows": judged.from_data(rows)}, base64.b64decode(picture), folder)


def reading_cell() -> dict[str, Any]:
    """Return the last cell of a notebook that `from_notebook` reads. It returns what a picture does not say."""
    return notebook_file.code_cell("made", _READING)


class InNotebook:
    """What a notebook has drawn and judged, as data for `from_notebook`.

    Parameters
    ----------
    item : Item
        The notebook's item.
    runs : Runs
        Its runs.
    results : dict
        The results of cells by their code.
    """

    def __init__(self, item: Item, runs: Runs, results: Mapping[str, Any]) -> None:
        self._item, self._runs, self._results = item, runs, results

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:  # noqa: ARG002
        figure, explained = self._results.get(_PLOT), self._results.get(_EXPLAIN)
        if figure is None or not isinstance(self._results.get(_SCORE), Scorecard):
            return {_MADE: None}
        causes = _causes(explained) if isinstance(explained, Explanation) else []
        made = {"item": self._item.model_dump(mode="json"), "explained": causes}
        return {_MADE: made | _numbers(figure) | _provenance(self._runs) | _interactive(self._item, self._runs)}


def _of_type(outputs: Sequence[Mapping[str, Any]], kind: str) -> Any:
    """Return the first output of a type; None if there is none."""
    return next((output["data"][kind] for output in outputs if kind in output.get("data", {})), None)


def _numbers(figure: Any) -> dict[str, Any]:
    """Return the drawn numbers of a figure as CSV (empty if there are none) and in words, and its size in pixels."""
    numbers = drawn.table(figure)
    return {
        "numbers": numbers.to_csv(index=False, float_format="%.9g") if len(numbers) else "",
        "words": drawn.describe(numbers),
        "size": [round(edge * figure.get_dpi()) for edge in figure.get_size_inches()],
    }


def _causes(explained: Explanation) -> list[dict[str, str]]:
    causes: list[dict[str, str]] = explained.frame.reset_index().to_dict("records")  # type: ignore[assignment]
    return causes


def _provenance(runs: Runs) -> dict[str, Any]:
    return {
        "runs": len(runs),
        "shipped": sum(run.shipped for run in runs),
        "wall_s": sum(float(run.provenance.get("wall_s", 0.0)) for run in runs),
        "engines": sorted({str(run.provenance.get("identity", "?"))[:12] for run in runs}),
    }


def _interactive(item: Item, runs: Runs) -> dict[str, Any]:
    content = item.interactive(runs)
    return {"interactive": None if content is None else content.data()}


def _written(item: Item, made: Mapping[str, Any], picture: bytes, folder: Path) -> Shown:
    """Write the picture, its small copy and the table into a directory."""
    name = f"{item.paper}-{item.id}-{item.column}"
    values = dict(made)
    numbers, words, content = (values.pop(key) for key in ("numbers", "words", "interactive"))
    (folder / f"{name}.png").write_bytes(picture)
    write_small(folder / f"{name}.png")
    if numbers:
        (folder / f"{name}.csv").write_text(numbers, encoding="utf-8")
    if content is not None:
        values["interactive"] = f"{name}.json"
        (folder / f"{name}.json").write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")
    title = item.testbed.title
    alt = f"{claims.paper(item.paper).item(item.id).title} ({title}){f': {words}' if words else ''}"
    return Shown(
        item.column, title, item.profile, figure=f"{name}.png", data=f"{name}.csv" if numbers else "", alt=alt, **values
    )


def thumb_name(figure: str) -> str:
    """Return the name of the small picture of a figure."""
    return f"small-{figure}"


def write_small(path: Path) -> None:
    """Write a small copy of a picture beside it, for a grid of many."""
    small(path, _SMALL_PX).quantize(64).save(path.with_name(thumb_name(path.name)), optimize=True)
