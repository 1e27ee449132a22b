# SPDX-License-Identifier: Apache-2.0
"""A store may have any path that the system allows: the guest gets a path that can stand on its command line."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from rdcnlab.engines.kernel.guest.plain import plain
from rdcnlab.fields.errors import RunError
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


def test_a_plain_path_is_used_as_it_is_and_another_one_through_a_link_that_is_removed(tmp_path: Path) -> None:
    with plain(tmp_path) as same:
        assert same == tmp_path
    for name in ODD:
        odd = tmp_path / name
        odd.mkdir(parents=True)
        with plain(odd) as named:
            assert named.resolve() == odd
            assert named.parent.stat().st_mode & 0o777 == 0o700
            assert not set(str(named)) & set(" \"'\\\n,;$")
        assert not named.parent.exists()


def test_where_no_link_can_be_made_the_path_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(**_: str) -> str:
        raise OSError

    monkeypatch.setattr(tempfile, "mkdtemp", nowhere)
    with pytest.raises(RunError, match="a b is too long, or has a character") as caught, plain(tmp_path / "a b"):
        pass
    assert "RDCNLAB_STORE" in str(caught.value)
