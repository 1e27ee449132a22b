# SPDX-License-Identifier: Apache-2.0
"""A store may have any path that the system allows: a guest sees its run at the same path everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario

ODD = ("with a space", "a\"quotation' mark", "a,comma; $HOME\\ and ünïcode\n", "/".join(["x" * 250] * 8))


@pytest.mark.guest
@pytest.mark.parametrize("name", ODD, ids=["space", "quotation", "others", "long"])
def test_a_run_in_a_store_with_such_a_path_has_the_same_bytes(tmp_path: Path, two_flows: Scenario, name: str) -> None:
    scenario = two_flows.with_(size="1 MiB")
    places = [tmp_path / "plain", tmp_path / name]
    runs = [
        campaign([scenario], store=Store(place, shipped=Shipped(tmp_path / "none")), workers=1, progress=False)[0]
        for place in places
    ]
    assert runs[0].digests == runs[1].digests
