# SPDX-License-Identifier: Apache-2.0
"""What the wheel of the laboratory contains beside the code; everything else is in ``pyproject.toml``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))

from travels import wheel

wheel("rdcnlab", (
    "docs", "kernel-patches", "p4",
    "CITATION.cff", "CONTRIBUTING.md", "README.md", "requirements-ns3.lock", "requirements.lock",
))  # fmt: skip
