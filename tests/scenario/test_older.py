# SPDX-License-Identifier: Apache-2.0
"""Older kernels by their settings: what `Transport.like` fills in, what wins, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.app import older as document
from rdcnlab.engines.kernel import plan
from rdcnlab.engines.kernel.build import patches
from rdcnlab.engines.kernel.plan.hosts import sysctls
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario, Transport, older
from tests.conftest import TWO_FLOWS

FLOWS = [{"name": "main", "size": "2 GiB", "path": "green", "cc": "cubic"}]
BASE = Scenario.from_dict({"network": "aykurt", "flows": FLOWS})


def like(kernel: Any, **transport: Any) -> Scenario:
    return Scenario.from_dict({"network": "aykurt", "flows": FLOWS, "transport": {"like": kernel, **transport}})


def test_nothing_changes_without_it() -> None:
    data = json.loads(BASE.json())["transport"]
    assert not set(data) & {"like", *older.settings("4.15")} - {"rmem", "limit_output_bytes"}
    assert not [
        name for name in sysctls(compile_network(BASE)) if name.endswith(("loss_timers", "half_rcvbuf", "comp_sack_nr"))
    ]
    assert BASE.with_(**{"transport.like": None}).hash == BASE.hash


@pytest.mark.parametrize("kernel", older.KERNELS)
def test_every_setting_reaches_the_kernel(kernel: str) -> None:
    scenario = like(kernel)
    usual, now = Transport(), scenario.transport
    expected = older.settings(kernel)
    changed = {name for name in Transport.model_fields if getattr(now, name) != getattr(usual, name)}
    assert changed == {"like", *expected}
    written = sysctls(compile_network(scenario))
    for name, value in expected.items():
        text = " ".join(value).replace(" B", "") if isinstance(value, list) else str(value).removesuffix(" B")
        assert written[f"net.ipv4.tcp_{name}"] == text
    plan.compile_plan(compile_network(scenario))


def test_older_means_later_fields_only_where_it_must() -> None:
    assert older.settings("4.15")["loss_timers"] == 1
    assert older.settings("4.9")["loss_timers"] == older.settings("4.4")["loss_timers"] == 2
    assert "bbr_plain" not in older.settings("4.4")


def test_what_a_scenario_says_wins_and_what_its_network_says_does_not() -> None:
    assert BASE.transport.rmem[2] == 3_300_000
    assert like("4.15").transport.rmem == (4096, 87_380, 6 * 2**20)
    assert like("4.15", rmem=["4 kB", "128 kB", "3300 kB"]).transport.rmem[2] == 3_300_000
    assert like("4.15", loss_timers=0).transport.loss_timers == 0
    assert like("4.15", loss_timers=None).transport.loss_timers == 1
    assert like("4.15", limit_output_bytes="1 MiB").transport.limit_output_bytes == 2**20


def test_changes_follow_the_same_rule() -> None:
    changed = BASE.with_(**{"transport.like": "4.15"})
    assert changed == like("4.15") == like(4.15)
    assert changed.hash != BASE.hash
    assert changed.with_(**{"transport.like": None}) == BASE
    assert changed.with_(**{"transport.like": "4.4"}) == like("4.4")
    slow = BASE.with_(**{"transport.rto_min_us": 5000, "transport.rmem": [4096, 8192, 16384]})
    both = slow.with_(**{"transport.like": "4.15"})
    assert (both.transport.rto_min_us, both.transport.rmem[2]) == (5000, 16384)
    assert both.with_(**{"transport.like": None}) == slow
    alone = {"transport.loss_timers": 0, "transport.rmem": [4096, 131_072, 3_300_000]}
    for first in ({}, {"seed": 2}):
        mixed = BASE.with_(**first, **alone, **{"transport.like": "4.15"})
        assert (mixed.transport.loss_timers, mixed.transport.rmem[2]) == (0, 3_300_000)
        assert mixed.transport.loss_detection == 1


def test_it_can_be_written_and_read(tmp_path: Path) -> None:
    for scenario in (like("4.15"), like("4.9", loss_timers=0, rmem=["4 kB", "128 kB", "3300 kB"]), BASE):
        assert Scenario.from_dict(json.loads(scenario.json())) == scenario
        (tmp_path / "x.yaml").write_text(scenario.dump())
        assert Scenario.load(tmp_path / "x.yaml") == scenario
    (tmp_path / "y.json").write_text(like("4.9").json())
    assert Scenario.load(tmp_path / "y.json") == like("4.9")


def test_what_like_does_not_set_has_fields_of_its_own() -> None:
    separate = {field: value for each in older.separate_differences() for field, value in each.settings["4.9"].items()}
    assert separate == {"fack": 1, "rfc5827": 2}
    assert not set(separate) & set(older.settings("4.9"))
    full = like("4.9", **separate)
    assert full.hash != like("4.9").hash
    assert {"net.ipv4.tcp_fack": "1", "net.ipv4.tcp_rfc5827": "2"}.items() <= sysctls(compile_network(full)).items()
    assert not {"net.ipv4.tcp_fack", "net.ipv4.tcp_rfc5827"} & set(sysctls(compile_network(like("4.9"))))


def test_it_needs_no_preset() -> None:
    written_out = Scenario.from_dict({**TWO_FLOWS, "network": BASE.network.model_dump(mode="json")})
    assert written_out.with_(**{"transport.like": "4.15"}).transport.loss_timers == 1
    assert written_out.with_(**{"transport.like": "4.15"}).with_(**{"transport.like": None}) == written_out


@pytest.mark.parametrize(
    ("changes", "place", "said"),
    [
        ({"transport.like": "4.3"}, "transport.like", "Possible: 4.15, 4.9, 4.4"),
        ({"transport.like": ["4.15"]}, "transport.like", "'4.15'"),
        ({"transport.like": "4.4", "cc": "bbr"}, "flows.main.cc", "nuftcp with transport.like 4.4, because BBR came"),
        ({"transport.loss_timers": 3}, "transport.loss_timers", "from 0 to 2"),
        ({"transport.half_rcvbuf": 2}, "transport.half_rcvbuf", "from 0 to 1"),
    ],
)
def test_what_is_not_allowed_is_named(changes: dict[str, Any], place: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        BASE.with_(**changes)
    assert place in str(error.value)
    assert said in str(error.value)


def test_bbr_is_in_later_kernels() -> None:
    for kernel in ("4.15", "4.9"):
        assert BASE.with_(**{"transport.like": kernel, "cc": "bbr"}).flows[0].cc == "bbr"


def test_every_difference_has_its_source() -> None:
    every = [*older.differences(), *older.separate_differences(), *older.unrestored_differences()]
    assert len({each.name for each in every}) == len(every)
    for each in every:
        assert each.what.endswith("."), each.name
        assert each.source, each.name
        assert set(each.kernels) <= set(older.KERNELS), each.name
        assert each.kernels, each.name
    fields = set(Transport.model_fields)
    assert {field for kernel in older.KERNELS for field in older.settings(kernel)} <= fields


def test_our_own_sysctls_are_off_by_default_and_documented() -> None:
    series = [path.read_text() for path in patches.series()]
    added = "".join(line for text in series for line in text.splitlines(keepends=True) if line.startswith("+"))
    for field in ("loss_timers", "tlp_limited", "loss_detection", "prr_conservative", "half_rcvbuf",
                  "dctcp_loss_by_alpha", "bbr_plain", "cubic_clock_ms", "rfc5827"):  # fmt: skip
        assert f'+\t\t.procname\t= "tcp_{field}"' in added
        assert f"+tcp_{field} - " in added


def test_the_document_is_what_the_table_says() -> None:
    assert document.path().read_text() == document.document(), "stale; this writes it: tools/older-kernels"
