# SPDX-License-Identifier: Apache-2.0
"""TCP in networks that reconfigure themselves: a real Linux stack in virtual time."""

from rdcnlab.campaign import campaign
from rdcnlab.errors import InputError, RunError
from rdcnlab.scenario import Scenario
from rdcnlab.store import Store

__all__ = ["InputError", "RunError", "Scenario", "Store", "__version__", "campaign"]

__version__ = "0.1.0"
