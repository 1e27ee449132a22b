# SPDX-License-Identifier: Apache-2.0
"""What the wheel of the papers contains beside the code; everything else is in ``pyproject.toml`` here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from travels import wheel

wheel("rdcnlab_papers", ("data", "notebooks"))
