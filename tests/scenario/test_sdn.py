# SPDX-License-Identifier: Apache-2.0
"""The settings of switches under an OpenFlow controller: what is refused, and what a scenario's hash contains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.analysis.show.rows import kind
from rdcnlab.engines.kernel.plan import check, compile_plan
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario


def scenario(directory: Path | None = None, *, path: object = "green", **switch: Any) -> Scenario:
    flows = [{"name": "main", "size": "1 MB", "path": path}]
    data = {"network": "aykurt", "flows": flows, "switch": {"kind": "ovs", **switch}, "limit": "1 s"}
    return Scenario.from_dict(data, directory=directory)


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text("from sdn import Controller\n\n\nclass Mine(Controller):\n    pass\n")
    return tmp_path


@pytest.mark.parametrize(
    ("field", "value"),
    [("delay", "1 ms"), ("jitter", "1 ms"), ("table_size", 9), ("controller", "mine.py"), ("observe_links", True)],
)
def test_only_ovs_knows_a_controller(app: Path, field: str, value: object) -> None:
    with pytest.raises(InputError, match=rf"switch\.{field}: .*only the switch ovs has this setting"):
        scenario(app, **{"kind": "ocs", field: value})


@pytest.mark.parametrize(
    ("name", "allowed"), [("mine.txt", r"an application of os-ken: a file \*\.py"), ("none.py", r"there is no file")]
)
def test_a_controller_is_a_file_of_python(app: Path, name: str, allowed: str) -> None:
    with pytest.raises(InputError, match=rf"switch\.controller: .*{allowed}"):
        scenario(app, controller=name)


def test_a_controller_counts_by_its_content(app: Path) -> None:
    first = scenario(app, controller="mine.py")
    (app / "other.py").write_bytes((app / "mine.py").read_bytes())
    assert scenario(app, controller="other.py").hash == first.hash
    assert scenario().hash != first.hash
    (app / "mine.py").write_text("# another\n")
    assert scenario(app, controller="mine.py").hash != first.hash
    with pytest.raises(InputError, match=r"switch\.controller: .*the file the scenario was made with"):
        compile_plan(compile_network(first))


def test_links_are_observed_for_a_controller_only(app: Path) -> None:
    """What does not use the field has the hash that it had before; its plan has no word of it."""
    plain, observing = (scenario(app, controller="mine.py", **more) for more in ({}, {"observe_links": True}))
    assert plain.hash != observing.hash
    assert plain.hash == scenario(app, controller="mine.py", observe_links=False).hash
    plans = [compile_plan(compile_network(one))["switches"][0] for one in (plain, observing)]
    assert [one.get("observe_links") for one in plans] == [None, True]
    with pytest.raises(InputError, match=r"switch\.observe_links: .*only an application, given as controller"):
        scenario(app, observe_links=True)


def test_a_port_is_down_while_its_line_is(app: Path) -> None:
    """Only a controller of the user's own can hear of it."""
    down = {"network.links.blue.down": [["1 ms", "2 ms"], ["5 ms", "6 ms"]]}
    own, plain = scenario(app, controller="mine.py").with_(**down), scenario().with_(**down)
    found = compile_plan(compile_network(own))["switches"][0]["down"]
    assert list(found.values()) == [((1_000_000, 2_000_000), (5_000_000, 6_000_000))]
    assert set(found) < set(compile_plan(compile_network(own))["switches"][0]["interfaces"])
    assert "down" not in compile_plan(compile_network(plain))["switches"][0]


@pytest.mark.parametrize("field", ["delay", "jitter"])
def test_a_controller_of_ones_own_waits_itself(app: Path, field: str) -> None:
    with pytest.raises(InputError, match=rf"switch\.{field}: .*a controller of your own waits itself"):
        scenario(app, controller="mine.py", **{field: "1 ms"})


SLOTS, NIGHTS = ([["1 ms", "green"], ["1 ms", other]] for other in ("blue", "dark"))


@pytest.mark.parametrize(
    ("more", "field", "allowed"),
    [
        (
            {"dark": "hold", "path": NIGHTS},
            "switch.dark",
            "drop, because it begins at sw, which is ovs, and only a switch ocs holds",
        ),
        ({"jitter": "1 ms", "path": SLOTS}, "switch.jitter", "less than the shortest slot"),
        ({"controller": "mine.py", "path": SLOTS}, r"flows\.main\.path", "one way: mine.py moves flows"),
    ],
)
def test_what_ovs_cannot_do_is_refused_by_the_name_of_the_field(
    app: Path, more: dict[str, Any], field: str, allowed: str
) -> None:
    with pytest.raises(InputError, match=rf"{field}: .*{allowed}"):
        check(compile_network(scenario(app, **more)))


def test_another_seed_draws_other_delays_for_each_instant() -> None:
    """The timetable has 1001 instants until the limit of 1 s, its first one included."""
    drawn = [
        compile_plan(compile_network(scenario(path=SLOTS, jitter="500 us").with_(seed=seed)), here=False)["switches"][
            0
        ]["drawn_ns"]
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert list(drawn[0]) == list(range(0, 10**9 + 1, 10**6))
    assert 0 <= min(drawn[0].values()) < max(drawn[0].values()) <= 500_000


def test_a_picture_says_what_controls_the_switch(app: Path) -> None:
    from rdcnlab.scenario import Node

    node = Node(name="switch")
    assert kind(scenario(delay="2 ms", table_size=9), node) == "ovs, delay 2 ms, 9 entries"
    assert kind(scenario(app, controller="mine.py"), node) == "ovs with mine.py"


def package(directory: Path, *, first: str = "__init__.py") -> Path:
    """Write a controller of several files, with what Python and editors leave beside them."""
    mine = directory / "balancer"
    texts = {
        first: "from .app import Mine\n", "app.py": "", "paths/__init__.py": "", "paths/best.py": "",
        "table.json": "{}", "__pycache__/app.cpython-311.pyc": "", ".app.py.swp": "",
    }  # fmt: skip
    for name, content in texts.items():
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).write_text(content)
    return mine


def test_a_directory_is_a_controller_with_all_its_files(tmp_path: Path) -> None:
    mine = package(tmp_path)
    found = scenario(tmp_path, controller="balancer")
    chosen = found.switch.controller
    assert chosen is not None
    assert (chosen.package, chosen.label) == ("balancer", "balancer")
    assert [file.name for file in chosen.files] == ["app.py", "paths/__init__.py", "paths/best.py", "table.json"]
    assert list(chosen.modules) == ["balancer.app", "balancer.paths", "balancer.paths.best"]
    assert kind(found, found.network.nodes[0]) == "ovs with balancer"
    (tmp_path / "s.yaml").write_text(found.dump())
    assert Scenario.load(tmp_path / "s.yaml") == found
    # every file counts by its content and its name, not by the place of the directory
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    mine.rename(elsewhere / "balancer")
    assert scenario(elsewhere, controller="balancer").hash == found.hash
    (elsewhere / "balancer" / "table.json").write_text("[]")
    assert scenario(elsewhere, controller="balancer").hash != found.hash


def test_a_directory_without_a_package_begins_with_main(tmp_path: Path) -> None:
    package(tmp_path, first="main.py")
    chosen = scenario(tmp_path, controller="balancer/").switch.controller
    assert chosen is not None
    assert (chosen.package, Path(chosen.path).name) == (None, "main.py")
    assert list(chosen.modules) == ["app", "paths", "paths.best"]


def test_a_changed_file_of_a_controller_is_refused(tmp_path: Path) -> None:
    mine = package(tmp_path)
    found = scenario(tmp_path, controller="balancer")
    (mine / "paths" / "best.py").write_text("# another\n")
    with pytest.raises(InputError, match=r"switch\.controller: .*best\.py' has changed"):
        compile_plan(compile_network(found))


def test_a_directory_needs_a_file_to_begin_with(tmp_path: Path) -> None:
    package(tmp_path, first="start.py")
    with pytest.raises(InputError, match=r"'balancer' has neither __init__\.py nor main\.py"):
        scenario(tmp_path, controller="balancer")


def test_a_package_has_a_name_that_python_can_import(tmp_path: Path) -> None:
    package(tmp_path).rename(tmp_path / "my-balancer")
    with pytest.raises(InputError, match=r"switch\.controller\.package: .*letters, digits and _"):
        scenario(tmp_path, controller="my-balancer")
