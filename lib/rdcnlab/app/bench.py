# SPDX-License-Identifier: Apache-2.0
"""Measure the speed of the engine. Goals are ratios, because seconds depend on the machine.

Measurements that are compared are made in the same rounds, see `rdcnlab.app.bench_rounds`. All parts together take six
minutes on two idle cores, so a workload that is added needs a short one beside it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from rdcnlab.app import bench_cluster, bench_packets, bench_use
from rdcnlab.app.bench_rounds import Row, Say, missing, silent
from rdcnlab.fields.errors import RunError
from rdcnlab.system import entry_points, progress

#: What is measured, in this order: names for the progress bar, and generators of rows.
PARTS: dict[str, Callable[[Say], Iterator[Row]]] = {
    "two flows": bench_packets.kernel,
    "fabrics": bench_packets.fabric,
    "shapes of long runs": bench_packets.shapes,
    "switches": bench_packets.switches,
    "ns-3": bench_packets.simulated,
    "local pool": bench_cluster.local,
    "cluster": bench_cluster.cluster,
    "explorer": bench_use.first_curves,
    "own algorithm": bench_use.races,
}


def measure(*, shown: bool = True) -> Iterator[Row]:
    """Yield one row for each measurement; the fields are those of `rdcnlab.app.bench_rounds.row`.

    Parameters
    ----------
    shown : bool
        Whether to show a progress bar.

    Raises
    ------
    RunError
        A part failed. Its row says so, and the parts after it are measured before.
    """
    failed = []
    parts = PARTS | {
        name: entry_points.load(point) for name, point in entry_points.points("rdcnlab.benchmarks").items()
    }
    with contextlib.closing(progress.bar(len(parts), "part", shown=shown)) as bar:
        for name, part in parts.items():
            # in a log, only the end of a part makes a line
            say: Say = (lambda message: bar.set_postfix_str(message)) if sys.stderr.isatty() else silent
            try:
                yield from part(say)
            except RunError as error:
                failed.append(name)
                yield missing(name, f"it failed: {error}")
            bar.update()
    if failed:
        raise RunError(f"parts of the benchmark failed: {', '.join(failed)}")
