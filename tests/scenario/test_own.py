# SPDX-License-Identifier: Apache-2.0
"""A congestion control of the user's own in a scenario."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario, described
from rdcnlab.scenario.own import registered_name
from tests.conftest import TWO_FLOWS

SOURCE = """
/* tcp_register_congestion_control(&other) in a comment is no call */
static struct tcp_congestion_ops mine __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.name		= "mine",
};
static int __init mine_register(void) { return tcp_register_congestion_control(&mine); }
module_init(mine_register);
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tcp_mine.c"
    path.write_text(SOURCE)
    return path


def scenario(file: Path, cc: str = "mine", **engine: object) -> Scenario:
    data = {**TWO_FLOWS, "engine": {"algorithm": str(file), **engine}}
    return Scenario.from_dict(data).with_(**{"flows.main.cc": cc})


def test_its_name_is_a_congestion_control_of_that_scenario_only(file: Path) -> None:
    assert scenario(file).flows[0].cc == "mine"
    with pytest.raises(InputError, match=r"flows\.main\.cc: there is no .* 'mine'.* cubic, .*, yeah, or a C file"):
        Scenario.from_dict(TWO_FLOWS).with_(**{"flows.main.cc": "mine"})
    with pytest.raises(InputError, match=r"yeah, mine$"):
        scenario(file, "reno2")


def test_the_content_counts_not_the_place(file: Path, tmp_path: Path) -> None:
    made = scenario(file)
    other = tmp_path / "elsewhere.c"
    other.write_text(SOURCE)
    assert scenario(other) == made
    other.write_text(SOURCE + "\n/* another version */\n")
    assert scenario(other) != made
    # without the field a scenario has the hash that it always had
    assert "algorithm" not in Scenario.from_dict(TWO_FLOWS).to_dict()["engine"]


def test_text_and_data_give_it_back(file: Path, tmp_path: Path) -> None:
    made = scenario(file)
    (tmp_path / "a.yaml").write_text(made.dump())
    assert Scenario.load(tmp_path / "a.yaml") == made
    file.unlink()  # a worker of a cluster has only the data
    assert Scenario.from_dict(made.to_dict()) == made
    short = {**TWO_FLOWS, "engine": {"algorithm": "tcp_mine.c"}}
    jsonschema.Draft202012Validator(described.schema()).validate(short)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("tcp_register_congestion_control(&mine)", "0", "it registers none"),
        ('"mine"', '"cubic"', "another name than cubic, which the kernel has"),
        ('"mine"', '"dctcp-reno"', "another name than dctcp-reno"),
        ('"mine"', '"Mine!"', 'instead of "Mine!", a lower-case letter'),
        ('"mine"', '"a-name-of-16-lett"', "at most 14"),
        ("module_init(mine_register);", "", "calls its registration at boot"),
        (".ssthresh	=", ".min_tso_segs =", "mine has .ssthresh, which Linux requires"),
        (".undo_cwnd	=", ".min_tso_segs =", "has .undo_cwnd"),
        (".cong_avoid	=", ".min_tso_segs =", "has .cong_avoid or .cong_control"),
        ("struct tcp_congestion_ops mine", "struct other mine", "struct tcp_congestion_ops mine = "),
    ],
)
def test_what_cannot_work_is_refused(file: Path, old: str, new: str, words: str) -> None:
    file.write_text(SOURCE.replace(old, new))
    with pytest.raises(InputError, match=r"engine\.algorithm") as caught:
        scenario(file)
    assert words in str(caught.value)


def test_several_registrations_are_refused() -> None:
    with pytest.raises(ValueError, match="it registers mine, yours"):
        registered_name(SOURCE + "static int f(void) { return tcp_register_congestion_control(&yours); }")


def test_other_engines_and_protocols_refuse_it(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only the engine kernel runs C of the kernel"):
        scenario(file, kind="ns3")
    with pytest.raises(InputError, match="one of cubic, reno, bbr with quic"):
        scenario(file).with_(**{"flows.main.protocol": "quic"})
    with pytest.raises(InputError, match=r"there is no file '.*none\.c'"):
        scenario(tmp_path / "none.c")
    with pytest.raises(InputError, match=r"\*\.c"):
        scenario(tmp_path / "tcp_mine.o")
