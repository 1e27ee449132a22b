# SPDX-License-Identifier: Apache-2.0
"""Explore by widgets: choose a network and transports, see them drawn, run them, and compare with earlier runs.

`choice` makes a scenario of what the widgets say, and `places` has the networks; both know no widget. `job` runs it in
a thread. `curves` draws the runs. `panel` is what the notebook shows, `keep` writes files. The widgets' library is
imported by `panel` only.
"""

from __future__ import annotations

from typing import Any

from rdcnlab.runs.store import Store


def explore(store: Store | None = None) -> Any:
    """Return the widgets of the notebook ``explore.ipynb``.

    Parameters
    ----------
    store : Store, optional
        Where runs are stored; by default the user's store.
    """
    # imported here, because the widgets take half a second
    from rdcnlab.app.explore.panel import Panel

    return Panel(Store() if store is None else store).box
