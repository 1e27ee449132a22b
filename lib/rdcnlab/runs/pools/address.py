# SPDX-License-Identifier: Apache-2.0
"""Connections to a Dask scheduler: how a cluster is named, and how a connection that was lost is made again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.system import extras

#: Seconds that a scheduler has to answer.
_CONNECT_S = 10.0
#: Seconds between two attempts to connect to a scheduler that does not answer.
_RETRY_S = 0.5
_ALLOWED = (
    "the address of a Dask scheduler such as tcp://10.0.0.1:8786 or tls://host:8786, a scheduler file, "
    "or slurm:N for N jobs of SLURM"
)
_ADDRESS = re.compile(r"((tcp|tls)://)?(\[[0-9a-fA-F:.%]+\]|[\w.-]+):([0-9]{1,5})")
_SLURM = re.compile(r"slurm:([0-9]+)")

#: How a cluster is named: by an address, by a scheduler file, or by an object of Dask (``Client`` or ``Cluster``).
Cluster = Any


class Link:
    """A connection to a scheduler.

    Parameters
    ----------
    cluster : str, Path, distributed.Client or distributed.deploy.Cluster
        The address of a scheduler, such as ``tcp://10.0.0.1:8786``; a scheduler file; ``slurm:N``; or an object of
        Dask, which stays open.

    Raises
    ------
    InputError
        There is no such scheduler.
    RunError
        The extra ``cluster`` is not installed.
    """

    def __init__(self, cluster: Cluster) -> None:
        extras.require("cluster")
        self._owned: list[Any] = []
        self._make: Callable[[float], Any]
        self.name, self.is_queued = "", False
        self.client: Any = None
        if isinstance(cluster, str | Path):
            self._by_name(str(cluster))
        else:
            self._by_object(cluster)

    @property
    def is_lost(self) -> bool:
        """Whether the scheduler has gone."""
        return self.client is None or self.client.status != "running"

    def renew(self, patience_s: float) -> None:
        """Connect again, and wait for the scheduler at most `patience_s`.

        Raises
        ------
        RunError
            No scheduler came back.
        """
        end = time.monotonic() + patience_s
        self._drop()
        while True:
            try:
                self.client = self._make(min(_CONNECT_S, max(1.0, patience_s)))
            except (OSError, ValueError) as error:
                if time.monotonic() >= end:
                    raise RunError(
                        f"the scheduler {self.name} did not come back within {patience_s:g} s "
                        f"({_first_line(error)}); finished runs are kept"
                    ) from None
                time.sleep(_RETRY_S)
            else:
                self._owned.append(self.client)
                return

    def close(self) -> None:
        """Close the connections and clusters that this object has opened."""
        self._drop()
        while self._owned:
            self._owned.pop().close()

    def _drop(self) -> None:
        if self.client in self._owned:
            self._owned.remove(self.client)
            self.client.close()
        self.client = None

    def _by_name(self, name: str) -> None:
        from distributed import Client

        self.name = name
        slurm = _SLURM.fullmatch(name)
        if slurm is not None and int(slurm[1]):
            self._by_object(_slurm(name, int(slurm[1])))
            self._owned.insert(0, self._cluster)
            self.is_queued = True
            return
        if Path(name).suffix == ".json":
            if not Path(name).is_file():
                raise InputError.of("cluster", name, "a scheduler file that exists; dask scheduler writes it")
            self._make = lambda timeout: Client(scheduler_file=name, timeout=timeout, set_as_default=False)
        elif _ADDRESS.fullmatch(name) and slurm is None:
            self._make = lambda timeout: Client(name, timeout=timeout, set_as_default=False)
        else:
            raise InputError.of("cluster", name, _ALLOWED)
        try:
            self.client = self._make(_CONNECT_S)
        except (OSError, ValueError) as error:
            allowed = (
                f"a Dask scheduler that runs; none answers there ({_first_line(error)}). Start one with: dask scheduler"
            )
            raise InputError.of("cluster", name, allowed) from None
        self._owned.append(self.client)

    def _by_object(self, cluster: Any) -> None:
        from distributed import Client
        from distributed.deploy import Cluster as Deployed

        if isinstance(cluster, Client):
            self.client = cluster
            address, security = cluster.scheduler.address, cluster.security
        elif isinstance(cluster, Deployed):
            self._cluster = cluster
            address, security = cluster.scheduler_address, cluster.security
            self.client = Client(cluster, timeout=_CONNECT_S, set_as_default=False)
            self._owned.append(self.client)
        else:
            raise InputError.of("cluster", cluster, f"{_ALLOWED}, or a Client or Cluster of Dask")
        self.name = self.name or address
        self._make = lambda timeout: Client(address, security=security, timeout=timeout, set_as_default=False)


def _slurm(name: str, jobs: int) -> Any:
    """Return a cluster whose workers are jobs of SLURM, as ``jobqueue.yaml`` of Dask describes them."""
    from dask_jobqueue import SLURMCluster

    try:
        cluster = SLURMCluster()
    except (OSError, TypeError, ValueError) as error:
        allowed = (
            "slurm:N on a machine of a SLURM cluster, with cores and memory of a job in jobqueue.yaml of Dask "
            f"({_first_line(error)})"
        )
        raise InputError.of("cluster", name, allowed) from None
    cluster.scale(jobs=jobs)
    return cluster


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
