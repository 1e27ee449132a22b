# SPDX-License-Identifier: Apache-2.0
"""Names of the engines, and of the kinds of switches, that scenarios can ask for."""

from __future__ import annotations

from typing import Literal

EngineKind = Literal["kernel", "ns3"]
SwitchKind = Literal["ocs", "bmv2", "ovs", "linux"]
