# SPDX-License-Identifier: Apache-2.0
"""TCP in networks that reconfigure themselves: a real Linux stack in virtual time."""

from rdcnlab.errors import InputError, RunError
from rdcnlab.scenario import Scenario

__all__ = ["InputError", "RunError", "Scenario", "__version__"]

__version__ = "0.1.0"
