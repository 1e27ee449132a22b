# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.fabrics import FABRICS
from tests.app.test_cli import Run, here, rdcnlab

__all__ = ["here", "rdcnlab"]  # fixtures
pytestmark = pytest.mark.usefixtures("fake_engine")


def test_a_scenario_is_drawn_beside_the_working_directory_and_described(here: Path, rdcnlab: Run) -> None:
    done = rdcnlab("show", "s.yaml")
    assert done.returncode == 0, done.stderr
    assert (here / "s.png").read_bytes().startswith(b"\x89PNG")
    for word in (
        "green, blue",
        "10 Gb/s",
        "37.04 us",
        "2.7875 MB",
        "50 ms blue, 50 ms green",
        "cycle: 100 ms",
        "s.png",
    ):
        assert word in done.stdout


@pytest.mark.parametrize(("kind", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_name_of_the_output_says_the_format(here: Path, rdcnlab: Run, kind: str, begin: bytes) -> None:
    for _ in range(2):  # the command replaces its own picture
        done = rdcnlab("show", "two-switches", "--output", f"a.{kind}")
        assert done.returncode == 0, done.stderr
        assert (here / f"a.{kind}").read_bytes().startswith(begin)


def test_another_file_is_replaced_only_with_force(here: Path, rdcnlab: Run) -> None:
    (here / "s.png").write_text("mine")
    done = rdcnlab("show", "s.yaml")
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert (here / "s.png").read_text() == "mine"
    assert rdcnlab("show", "s.yaml", "--force").returncode == 0
    assert (here / "s.png").read_bytes().startswith(b"\x89PNG")


def test_json_prints_ways_and_draws_only_what_is_asked_for(here: Path, rdcnlab: Run) -> None:
    done = rdcnlab("show", "s.yaml", "--json")
    assert done.returncode == 0, done.stderr
    assert [way["flows"] for way in json.loads(done.stdout)["ways"]] == [["main"], ["migrated"]] * 2
    assert not (here / "s.png").exists()
    done = rdcnlab("show", "s.yaml", "--json", "--output", "a.svg")
    assert json.loads(done.stdout)["network"] == "aykurt"
    assert (here / "a.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (("none",), "rotor"),
        (("none.yaml",), "there is no file"),
        (("s.yaml", "--output", "a.gif"), ".png, .svg, .pdf"),
        (("s.yaml", "--output", "a"), ".png, .svg, .pdf"),
        (("s.yaml", "--output", "none/a.png"), "a directory that exists"),
        (("s.yaml", "--output", "folder.png"), "a file, not a directory"),
        (("bad.yaml",), "flows"),
        (("folder.png",), "is a directory"),
    ],
)
def test_bad_input_is_named(here: Path, rdcnlab: Run, arguments: tuple[str, ...], allowed: str) -> None:
    (here / "folder.png").mkdir()
    (here / "bad.yaml").write_text("network: aykurt\n")
    done = rdcnlab("show", *arguments)
    assert done.returncode == 2
    assert allowed in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(here.glob("*.svg"))


@pytest.mark.parametrize("name", FABRICS)
def test_a_fabric_can_be_written_in_a_file(here: Path, rdcnlab: Run, name: str) -> None:
    hosts = FABRICS[name]().data()["hosts"]
    flow = {"name": "f", "src": hosts[0]["name"], "dst": hosts[-1]["name"], "size": "1 MB"}
    if name == "shared-queue":  # one switch: ways are names of links
        flow["path"] = "shared"
    (here / "f.yaml").write_text(yaml.safe_dump({"network": {"fabric": name, "rate": "40 Gb/s"}, "flows": [flow]}))
    done = rdcnlab("show", "f.yaml")
    assert done.returncode == 0, done.stderr
    assert "40 Gb/s" in done.stdout
    assert "1 MB" in done.stdout


def test_a_fabrics_wrong_name_is_named() -> None:
    with pytest.raises(InputError, match=r"network\.name"):
        Scenario.from_dict({"network": {"fabric": "dumbbell", "name": 3}, "flows": []})
