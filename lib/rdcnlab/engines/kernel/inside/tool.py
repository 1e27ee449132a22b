# SPDX-License-Identifier: Apache-2.0
"""Where our own tools are."""

from __future__ import annotations

#: Path of our tools, one static program. It runs as PID 1, so this is valid wherever the host stores the file.
TOOL = "/proc/1/exe"
