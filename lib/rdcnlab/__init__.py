# SPDX-License-Identifier: Apache-2.0
"""TCP in networks that reconfigure themselves: a real Linux stack in virtual time."""

from typing import Any as _Any

from rdcnlab.analysis.results import ResultViews as _ResultViews
from rdcnlab.analysis.show.notebook import bundle as _bundle
from rdcnlab.fields.errors import HintWarning, InputError, RunError
from rdcnlab.runs import views as _views
from rdcnlab.runs.campaign import CampaignError, campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.lab import Lab
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.scenario import display as _display

__all__ = [
    "CampaignError",
    "HintWarning",
    "InputError",
    "Lab",
    "Run",
    "RunError",
    "Runs",
    "Scenario",
    "Store",
    "__version__",
    "campaign",
]

__version__ = "0.1.0"

_display.register(_bundle)
_views.current = _ResultViews()


def load_ipython_extension(shell: _Any) -> None:
    """Add the cell magic ``%%host``; IPython calls this for ``%load_ext rdcnlab``."""
    from rdcnlab.app.magic import load

    load(shell)
