# SPDX-License-Identifier: Apache-2.0
"""What programs of a run in progress have sent to each other so far, from the records that its guest has written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rdcnlab.engines import Arrived
from rdcnlab.engines.kernel.trace import attribution, fields, records
from rdcnlab.engines.network import Network
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.engines.observation import Numbering

#: Most records that are read at a time; of more, that many by chance. A curve of 60 parts is then right to about 3 %.
MOST = 100_000
#: Instants at which bytes are counted; a curve has fewer parts.
INSTANTS = 256
_EVENT = "ocs_dequeue"


def read(network: Network, directory: Path) -> Arrived:
    """Return what has arrived from each host at each other one, until the last record that has left the guest.

    The guest's clock is ahead of it: 16 KiB of records are on their way.

    Parameters
    ----------
    network : Network
        The network of a scenario without flows.
    directory : Path
        The guest's directory.

    Raises
    ------
    OSError
        There are no such records: the guest has not begun, or it counts packets instead, or its switch is another.
    """
    numbering = Numbering.of(network)
    kind = records.layout((directory / f"{_EVENT}.format").read_text(), fields(network.traffic, _EVENT))
    path = directory / f"{_EVENT}.trace"
    count = path.stat().st_size // kind.itemsize  # the last record may be written at this moment
    if not count:
        return Arrived(np.zeros(1, np.int64), np.zeros((1, 0), np.int64))
    rows = np.memmap(path, kind, "r", shape=(count,))
    # at equal steps, every record might be one of an ACK
    chosen = slice(None) if count <= MOST else np.sort(np.random.default_rng(0).integers(count, size=MOST))
    seen = attribution.attributed(network, np.array(rows[chosen]))
    seen = numbering.ours(seen[numbering.is_at_port(seen)])
    # the traces' clock is the guest's; a picture does not need the last ns
    t_ns = np.clip(seen["time"].astype(np.int64) - START_NS, 0, None)
    instants = np.linspace(0, int(t_ns.max(initial=1)), INSTANTS + 1)
    names, received = [], []
    flows = numbering.flow(seen)
    for number in np.unique(flows).tolist():
        of_flow = flows == number
        size, _ = np.histogram(t_ns[of_flow], instants, weights=seen["len"][of_flow].astype(np.float64))
        names.append(network.traffic.all[number].name)
        received.append(np.append(0, np.cumsum(size * (count / min(count, MOST)))))
    table = np.array(received).reshape(-1, INSTANTS + 1).T
    return Arrived(instants.astype(np.int64), table.astype(np.int64), tuple(names))
