# SPDX-License-Identifier: Apache-2.0
"""TCP in networks that reconfigure themselves: a real Linux stack in virtual time."""

from rdcnlab.analysis.show.notebook import bundle as _bundle
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.scenario import display as _display

__all__ = ["InputError", "RunError", "Scenario", "Store", "__version__", "campaign"]

__version__ = "0.1.0"

_display.register(_bundle)
