# SPDX-License-Identifier: Apache-2.0
"""TCP in networks that reconfigure themselves: a real Linux stack in virtual time."""

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario

__all__ = ["InputError", "RunError", "Scenario", "Store", "__version__", "campaign"]

__version__ = "0.1.0"
