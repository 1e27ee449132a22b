# SPDX-License-Identifier: Apache-2.0
"""Reproduce many items: make their runs on all cores, item by item, and execute notebooks as soon as runs exist."""

from __future__ import annotations

import base64
import contextlib
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rdcnlab.app import notebook_file
from rdcnlab.app.executors import executor
from rdcnlab.engines import wall_limit_s
from rdcnlab.fields.errors import RdcnlabError, RunError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.pools import Pool
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system import limits
from rdcnlab.system.extras import require
from rdcnlab_papers import select
from rdcnlab_papers.app import notebooks
from rdcnlab_papers.app.reproduce.display import Display
from rdcnlab_papers.app.reproduce.plan import Job, plan, work
from rdcnlab_papers.items import judged
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.items.judged import JudgedClaim
from rdcnlab_papers.items.scored import ROWS

#: End of the id of the cell that shows the runs beside the shipped ones.
_BESIDE = "-beside"


@dataclass(frozen=True)
class Reproduced:
    """The result for one item.

    Parameters
    ----------
    name : str
        The item's name, such as ``aykurt/fig4``.
    runs : int
        Number of runs that were made for it.
    wall_s : float
        Time in s that its missing runs took.
    notebook : Path or None
        The notebook with its outputs; None if the item failed.
    figures : tuple of Path
        The pictures in the notebook, in order.
    rows : list of JudgedClaim
        The scorecard, as `Item.rows` returns it.
    sentence : str
        The runs beside the shipped ones, in words; see `Item.beside`. Empty unless this was asked for.
    error : str
        The reason why the item failed; empty if it did not fail.
    """

    name: str
    runs: int = 0
    wall_s: float = 0.0
    notebook: Path | None = None
    figures: tuple[Path, ...] = ()
    rows: list[JudgedClaim] = field(default_factory=list)
    sentence: str = ""
    error: str = ""


@dataclass(frozen=True)
class _Order:
    """The task of a process in plain data, because an item's class cannot be sent to a process."""

    name: str
    parameters: dict[str, Any]
    store: Path
    output: Path
    beside: bool = False


def reproduce(
    kinds: Iterable[type[Item]],
    parameters: Mapping[str, Any],
    output: Path,
    *,
    workers: int | None = None,
    cluster: Any = None,
    progress: bool = True,
    beside: bool = False,
    ended: Callable[[Reproduced], None] | None = None,
) -> list[Reproduced]:
    """Reproduce items: make their missing runs, in order of cost, and execute their notebooks on all cores.

    It can be interrupted at any time and started again: finished runs are stored, and a notebook appears in the output
    only when it is complete.

    Parameters
    ----------
    kinds : iterable of type of Item
        The items.
    parameters : dict
        Values for the ``parameters`` cells of all notebooks.
    output : Path
        Directory for ``<paper>/<item>.ipynb`` and its pictures.
    workers : int, optional
        Processes for runs, and processes for notebooks; by default one on every core.
    cluster : optional
        A Dask cluster for the runs; see `rdcnlab.campaign`. Then `workers` only counts processes for notebooks.
    progress : bool
        Whether to display the progress.
    beside : bool
        Whether notebooks end with the runs beside the shipped ones; see `Item.beside`.
    ended : callable, optional
        Called with the result of each item as soon as it is known.

    Returns
    -------
    list of Reproduced
        In the order of `kinds`. The result of an item that failed has the reason; the others are complete.

    Raises
    ------
    InputError
        A notebook has no such parameter, or an item refuses a value. Nothing was run.
    """
    selection = list(kinds)
    notebooks.check(selection, parameters)
    store = Store()
    jobs = plan(selection, parameters, store)
    results: dict[str, Reproduced] = {}

    def keep(result: Reproduced) -> None:
        results[result.name] = result
        display.count_executed(failed=bool(result.error))
        if ended is not None:
            ended(result)

    cores = workers or len(limits.cores())
    # without max_tasks_per_child, with which this pool may never end in Python 3.11 (cpython issue 115634)
    futures: dict[Future[Reproduced], Reproduced] = {}
    with (
        _runs_on(cluster, jobs, store) as runs_on,
        Display(len(jobs), sum(job.missing for job in jobs), sum(job.work for job in jobs), shown=progress) as display,
        executor(
            min(cores, len(jobs)) or 1, ["rdcnlab_papers.app.reproduce.all", "papermill", "rdcnlab.app.warm"]
        ) as pool,
    ):
        for job in jobs:
            display.works_on(job.name)
            runs_result = _run(job, store, display, workers=workers, pool=runs_on)
            if runs_result.error:
                keep(runs_result)
                continue
            order = _Order(job.name, dict(parameters), store.root, output, beside)
            futures[pool.submit(execute, order)] = runs_result
            for future in [future for future in futures if future.done()]:
                keep(_joined(future, futures.pop(future)))
        display.works_on("notebooks")
        for future in as_completed(list(futures)):
            keep(_joined(future, futures[future]))
    return [results[f"{kind.paper}/{kind.id}"] for kind in selection]


def execute(order: _Order) -> Reproduced:
    """Execute the notebook of an item whose runs are stored. Claims are judged here only if the notebook shows no card.

    Raises
    ------
    RunError
        The notebook failed.
    """
    (kind,) = select([order.name])
    target = order.output / kind.paper / f"{kind.id}.ipynb"
    more = [notebook_file.code_cell(f"{kind.id}{_BESIDE}", "item.beside(runs)")] if order.beside else []
    executed = notebooks.execute(notebooks.path(kind), target, order.parameters, more)
    rows = rows_of(executed)
    if not rows:
        item = kind(**notebooks.of_item(kind, order.parameters))
        rows = item.rows(item.stored_runs(Store(order.store)))
    return Reproduced(
        order.name, notebook=target, figures=_pictures(executed, target), rows=rows, sentence=_sentence(executed)
    )


def _run(job: Job, store: Store, display: Display, *, workers: int | None, pool: Pool | None) -> Reproduced:
    """Make the missing runs of a job. An error concerns this item only."""
    begin = time.monotonic()
    count = 0

    def count_run(scenario: Scenario, error: RunError | None) -> None:
        nonlocal count
        count += error is None
        display.ran(work(scenario), failed=error is not None)

    problem = ""
    try:
        for extra in job.item.extras:
            require(extra)
        for batch in job.batches:
            if batch.missing:
                needs = batch.shown_by.parts_of
                campaign(
                    batch.missing, workers=workers, pool=pool, store=store, progress=False, needs=needs, done=count_run,
                    hints=False,
                )  # fmt: skip
    except Exception as error:  # noqa: BLE001  (see `_reason`)
        problem = _reason(error)
    return Reproduced(job.name, runs=count, wall_s=time.monotonic() - begin, error=problem)


@contextlib.contextmanager
def _runs_on(cluster: Any, jobs: Sequence[Job], store: Store) -> Iterator[Pool | None]:
    """Yield the pool of a cluster for all items; None if the campaigns start processes on this machine, or none."""
    missing = [scenario for job in jobs for batch in job.batches for scenario in batch.missing]
    if cluster is None or not missing:
        yield None
        return
    from rdcnlab.runs.pools.cluster import ClusterPool

    # one pool serves all items, so the engine with the longest runs decides
    with contextlib.closing(ClusterPool(cluster, store, wall_limit_s=wall_limit_s(missing))) as pool:
        yield pool


def _joined(future: Future[Reproduced], runs_result: Reproduced) -> Reproduced:
    """Return the result of a notebook together with that of its runs."""
    try:
        notebook_result = future.result()
    except Exception as error:  # noqa: BLE001  (see `_reason`)
        return Reproduced(runs_result.name, runs_result.runs, runs_result.wall_s, error=_reason(error))
    return replace(notebook_result, runs=runs_result.runs, wall_s=runs_result.wall_s)


def _reason(error: Exception) -> str:
    """Return an error in words. Also a fault in an item's code must not cost the results of the other items."""
    return str(error) if isinstance(error, RdcnlabError) else "".join(traceback.format_exception(error)).strip()


def rows_of(executed: Any) -> list[JudgedClaim]:
    """Return the rows of the last scorecard that a notebook shows; none if it shows none."""
    outputs = (output.get("data", {}) for cell in executed.cells for output in cell.get("outputs", []))
    cards = [data[ROWS] for data in outputs if ROWS in data]
    return judged.from_data(cards[-1]) if cards else []


def _pictures(executed: Any, target: Path) -> tuple[Path, ...]:
    """Write the pictures of a notebook beside it. Those of the network and of all runs have their cell's name."""
    paths: list[Path] = []
    figures = 0
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            image = output.get("data", {}).get("image/png")
            if image is None:
                continue
            name = f"{target.stem}{f'-{figures}' if figures else ''}"
            if cell.id.endswith((notebooks.NETWORK, _BESIDE)):
                name = cell.id
            else:
                figures += 1
            paths.append(target.with_name(f"{name}.png"))
            paths[-1].write_bytes(base64.b64decode(image))
    return tuple(paths)


def _sentence(executed: Any) -> str:
    """Return what the last cell says about the runs and the shipped ones; empty if there is no such cell."""
    last = executed.cells[-1]
    if not last.id.endswith(_BESIDE):
        return ""
    texts = (output.get("data", {}) for output in last.outputs)
    return " ".join(data.get("text/plain", "") for data in texts if "image/png" not in data).strip()
