# SPDX-License-Identifier: Apache-2.0
"""Runs of the explorer, made in a thread, so that the notebook stays alive and a run can be stopped."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Literal

from rdcnlab.engines import get_engine
from rdcnlab.fields.errors import RdcnlabError
from rdcnlab.runs.campaign import CampaignError, campaign, lookup
from rdcnlab.runs.clocks import LOOK_S, Clocks
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.pools import Stopped
from rdcnlab.runs.pools.local import LocalPool
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario

#: Wall-clock seconds after which a run is ended: who explores does not wait longer.
_WALL_LIMIT_S = 600.0

State = Literal["building", "running", "done", "stopped", "failed"]


class Job:
    """One click on the button: a scenario with several seeds, run by a campaign.

    Parameters
    ----------
    scenarios : sequence of Scenario
        What is run.
    store : Store
        Where runs are stored.
    cores : sequence of int
        One worker is pinned to each.
    changed : callable
        Called with this job, from its thread, when one of its fields has changed.
    """

    def __init__(
        self, scenarios: Sequence[Scenario], store: Store, cores: Sequence[int], changed: Callable[[Job], None]
    ) -> None:
        self.scenarios, self.store, self._changed = list(scenarios), store, changed
        self.state: State = "building"
        #: What happens now, or why it ended.
        self.note = ""
        #: Share of the work that is done, 0 to 1.
        self.share = 0.0
        self.runs = Runs([])
        self.begun = time.monotonic()
        self.wall_s = 0.0
        self._asked = threading.Event()
        self._pool = LocalPool(cores, store, wall_limit_s=_WALL_LIMIT_S)
        self._thread = threading.Thread(target=self._work, name="rdcnlab explore", daemon=True)
        self._watch = threading.Thread(target=self._look, name="rdcnlab explore clock", daemon=True)

    def start(self) -> None:
        """Begin; this returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the job. Runs that have finished stay; the others are ended."""
        self._asked.set()
        self._pool.stop()

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until the job has ended, and return whether it has."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ("done", "stopped", "failed")

    def _work(self) -> None:
        try:
            get_engine(self.scenarios[0]).prepare(self._building)
            self._say("running", "")
            self._watch.start()
            self._update()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                campaign(self.scenarios, store=self.store, pool=self._pool, progress=False, done=self._finished)
            self._update()
            self._say("done", "")
        except Stopped:
            self._update()
            self._say("stopped", "finished runs are kept")
        except CampaignError as error:
            self._update()
            self._say("failed", str(error.failures[0].error))
        except RdcnlabError as error:
            self._say("failed", str(error))
        except Exception as error:  # noqa: BLE001  (a thread's error would be seen by nobody)
            self._say("failed", f"{type(error).__name__}: {error}")

    def _building(self, what: str, done: int, total: int) -> None:
        if self._asked.is_set():
            raise Stopped
        self.share = done / max(total, 1)
        self._say("building", f"{what} ({done} of {total})")

    def _finished(self, _scenario: Scenario, error: RdcnlabError | None) -> None:
        if error is None:
            self._update()

    def _update(self) -> None:
        self.runs = Runs([run for run in lookup(self.scenarios, self.store) if run is not None])
        self.share = max(self.share if self.state == "running" else 0.0, len(self.runs) / len(self.scenarios))
        self._say(self.state, self.note)

    def _say(self, state: State, note: str) -> None:
        self.wall_s = time.monotonic() - self.begun
        self.state, self.note = state, note
        if state == "done":
            self.share = 1.0
        self._changed(self)

    def _look(self) -> None:
        """Follow the virtual clocks of the runs in progress."""
        clocks = Clocks(self.scenarios, self.store)
        while not self.ended:
            running = sum(min(one.virtual_ns / one.scenario.limit, 0.99) for one in clocks.read())
            share = (len(self.runs) + running) / len(self.scenarios)
            if share > self.share and not self.ended:
                self.share = min(share, 0.99)
                self._say(self.state, self.note)
            time.sleep(LOOK_S)
