# SPDX-License-Identifier: Apache-2.0
"""The content of a scenario's picture, read from the artists of matplotlib."""

from __future__ import annotations

import functools
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from rdcnlab.analysis.figures import style
from rdcnlab.analysis.show import paint, rows
from rdcnlab.analysis.show.names import compress, readable
from rdcnlab.analysis.show.paint import INK
from rdcnlab.analysis.show.picture import image, picture
from rdcnlab.analysis.show.spans import MOST_ROWS, panels
from rdcnlab.analysis.show.ways import Shown, Step, data, ways_of
from rdcnlab.fields.units import DURATION, RATE, SIZE
from rdcnlab.scenario import Scenario
from tests.analysis.shown import ALL, AYKURT, GROWING, LATE, PRESETS, TDTCP, flow, shown


def texts(figure: Figure) -> Iterator[Text]:
    """Return the visible texts of a figure. Matplotlib also keeps tick labels that it does not draw."""
    unseen = {
        label
        for ax in figure.axes
        for tick in ax.xaxis.get_major_ticks()
        for label in (tick.label1, tick.label2)
        if not ax.axison or not ax.get_xlim()[0] <= tick.get_loc() <= ax.get_xlim()[1]
    }
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text not in unseen and text.get_visible() and text.get_text().strip():
            yield text


def read(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in texts(figure))


def charts(figure: Figure) -> list[Axes]:
    """Return the axes with a timetable."""
    return [ax for ax in figure.axes if slots(ax)]


def slots(ax: Axes, gid: str = "slot") -> list[tuple[float, float, float]]:
    """Return the row (its y), begin and end of each bar, in the order of rows and time."""
    found = [patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_gid() == gid]
    return sorted((round(bar.get_y(), 4), bar.get_x(), bar.get_x() + bar.get_width()) for bar in found)


def by_row(ax: Axes, gid: str = "slot") -> list[list[tuple[float, float]]]:
    return [
        [(round(begin, 6), round(end, 6)) for _, begin, end in bars]
        for _, bars in itertools.groupby(slots(ax, gid), lambda bar: bar[0])
    ]


def lines(figure: Figure) -> dict[str, float]:
    """Return the line width of each drawn link."""
    return {str(line.get_gid()): line.get_linewidth() for ax in figure.axes for line in ax.lines if line.get_gid()}


@functools.cache
def drawn(name: str) -> Figure:
    """Return the picture of a scenario of `ALL`, or of a preset."""
    return picture(asked_for(name))


@functools.cache
def asked_for(name: str) -> Shown:
    return Shown.preset(name.removeprefix("preset ")) if name.startswith("preset ") else shown(name)


every = pytest.mark.parametrize("name", [*ALL, *(f"preset {name}" for name in PRESETS)])


@every
def test_all_switches_links_hosts_and_rates_can_be_read(name: str) -> None:
    any_of = asked_for(name)
    words = read(drawn(name)).replace("\n", " ")
    for make, field in ((rows.links, "links"), (rows.hosts, "hosts"), (rows.switches, "switches")):
        for row in make(any_of):
            one_switch = field == "switches" and not any_of.scenario.network.switches
            for part in [] if one_switch else row[field].split(", "):
                assert part in words
            for quantity in ("rate", "delay"):
                assert row.get(quantity, "") in words
            for word in row.get("queue", "").split():
                assert word in words


@every
def test_no_text_is_on_another_or_outside(name: str) -> None:
    figure = drawn(name)
    with style():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    whole = figure.bbox
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    for text, box in boxes:
        assert whole.x0 <= box.x0, text
        assert box.x1 <= whole.x1, text
        assert whole.y0 <= box.y0, text
        assert box.y1 <= whole.y1, text
    for (one, first), (other, second) in itertools.combinations(boxes, 2):
        # rounding can shift an edge by one pixel
        apart = first.x1 - 1 <= second.x0 or second.x1 - 1 <= first.x0
        assert apart or first.y1 - 1 <= second.y0 or second.y1 - 1 <= first.y0, (one, other)


@every
def test_no_text_crosses_the_edge_of_a_box(name: str) -> None:
    figure = drawn(name)
    with style():
        FigureCanvasAgg(figure).draw()
    sketch = figure.axes[0]
    boxes = [patch.get_window_extent() for patch in sketch.patches if patch.get_width() > 0.2]  # type: ignore[attr-defined]
    for text in sketch.texts:
        words = text.get_window_extent()
        apart = [
            words.x1 <= box.x0 or box.x1 <= words.x0 or words.y1 <= box.y0 + 1 or box.y1 - 1 <= words.y0
            for box in boxes
        ]
        # the boxes of a stack are behind each other, and the name is in the first one
        inside = [
            box.x0 <= words.x0 and words.x1 <= box.x1 and box.y0 <= words.y0 and words.y1 <= box.y1 for box in boxes
        ]
        assert all(apart) or any(inside), text.get_text()


@pytest.mark.parametrize(("leaves", "hosts"), [(2, 4), (4, 4), (8, 4), (10, 3), (12, 2), (9, 1)])
def test_names_of_hosts_are_whole(leaves: int, hosts: int) -> None:
    network = {"fabric": "leaf-spine", "leaves": leaves, "spines": 4, "hosts": hosts}
    last = f"h{leaves * hosts}"
    words = read(picture(Shown.of(Scenario.from_dict({"network": network, "flows": [flow("f", "h1", last)]}))))
    names = [line for line in words.splitlines() if line.startswith("h")]
    assert any(re.fullmatch(rf"{last}|h\[\d+-{last[1:]}\]", name) for name in names)
    assert not any(line.endswith("...") and line != "..." for line in words.splitlines())
    assert words.splitlines().count("...") == (leaves > 10)


@pytest.mark.parametrize("name", ["leaf-spine", "ring", "preset carpa", "preset two-tier-clos"])
def test_each_link_of_a_way_has_the_colour_of_its_lane(name: str) -> None:
    figure = drawn(name)
    lines = {line.get_gid(): to_hex(line.get_color()) for line in figure.axes[0].lines if line.get_gid()}
    (ax,) = charts(figure)
    lanes = [patch for patch in ax.patches if patch.get_gid() in ("slot", "hop")]
    passed = {hop.link for way in ways_of(asked_for(name)) if not way.back or way.cycle
              for hops in way.route.ways for hop in hops or ()}  # fmt: skip
    colors = {to_hex(lane.get_facecolor()) for lane in lanes}
    labels = {text.get_text() for text in ax.texts}
    assert len(passed) > 1
    for link in passed:
        assert link in labels
        assert lines[link] in colors
    assert len({lines[link] for link in passed}) == len(passed)
    assert {lines[link] for link in lines if link not in passed} <= {to_hex(INK)}


@every
def test_every_picture_has_a_notebooks_width(name: str) -> None:
    figure = drawn(name)
    assert figure.get_size_inches()[0] == 7.4
    assert figure.get_size_inches()[1] < 20


@pytest.mark.parametrize("name", ["aykurt", "tdtcp", "late", "dumbbell", "ring", "leaf-spine", "rotor"])
def test_every_link_is_a_line(name: str) -> None:
    asked = shown(name)
    assert set(lines(drawn(name))) == {link.name for link in asked.scenario.network.links}


def test_lines_are_wider_where_rates_are_higher() -> None:
    wide = lines(drawn("late"))
    assert wide["l_m"] > wide["l_n"]
    wide = lines(drawn("tdtcp"))
    assert wide["circuit"] > wide["packet"]
    wide = lines(drawn("aykurt"))
    assert wide["green"] == wide["blue"]


def test_bars_are_the_slots_of_a_flows_own_timetable() -> None:
    (ax,) = charts(drawn("aykurt"))
    still, migrated = by_row(ax)
    assert still == [(0, 102)]  # ms
    assert migrated == [(0, 50), (50, 51), (51, 101), (101, 102)]
    assert ax.get_xlabel() == "time in the cycle [ms]"


def test_bars_are_the_slots_of_a_schedule_with_the_numbers_of_networks() -> None:
    figure = drawn("tdtcp")
    (ax,) = charts(figure)
    assert by_row(ax) == [[(0, 1180), (1180, 1200), (1200, 1380), (1380, 1400)]] * 2  # us
    words = [text.get_text() for text in ax.texts]
    assert words.count("packet\nTDN 0") == 2
    assert words.count("circuit\nTDN 1") == 2


def test_a_schedules_phase_moves_its_bars_round_the_cycle() -> None:
    (ax,) = charts(drawn("growing"))
    # the slots are [1 ms, packet], [400 us, dark]; with a phase of 600 us the previous packet slot lasts 200 us more
    assert by_row(ax)[1] == [(0, 200), (200, 600), (600, 1400)]


def test_what_a_queue_is_set_to_is_below_the_slots() -> None:
    (ax,) = charts(drawn("growing"))
    assert by_row(ax, "strip") == [[(0, 1030), (1030, 1380), (1380, 1400)]]
    assert {"queue 16 packets", "queue 50 packets"} <= {text.get_text() for text in ax.texts}


def test_a_late_switch_changes_late_and_by_what_is_drawn() -> None:
    scenario = Scenario.from_dict(LATE)
    (ax,) = charts(picture(Shown.of(scenario)))
    left, _, right, _ = by_row(ax)
    assert left == [(0, 1), (1, 2)]  # s
    (_, first), (_, second), _ = right
    assert 0.1 <= first <= 0.25
    assert 1.1 <= second <= 1.25
    assert by_row(ax, "drawn")[0] == [(0.1, 0.25), (1.1, 1.25)]
    exact = Shown.of(scenario.with_(**{"network.switches.right.jitter": 0}))
    (ax,) = charts(picture(exact))
    assert by_row(ax)[2] == [(0, 0.1), (0.1, 1.1), (1.1, 2)]


def test_a_rotor_shows_each_racks_turns_and_a_change_from_near() -> None:
    figure = drawn("rotor")
    _, turns, begin, end = charts(figure)
    assert len(by_row(turns)) == 8
    for row in by_row(turns):  # seven days of 180 us, each followed by a dark night of 20 us
        assert row == [span for day in range(0, 1400, 200) for span in ((day, day + 180), (day + 180, day + 200))]
    words = [text.get_text() for text in turns.texts]
    for rack in range(1, 9):
        assert words.count(f"rack{rack}") == 7
    # the rotor begins 1 us late, and ends 1 us late plus its guard; times count from the change
    rack, rotor = by_row(begin)
    assert rack[0][1] == 0
    assert rotor[0][1] == 1
    rack, rotor = by_row(end)
    assert rack[0][1] == 0
    assert rotor[0][1] == 8.232
    assert by_row(end, "guard") == [[(1, 8.232)]]


def test_turns_are_left_out_beyond_a_number_of_rows_and_the_picture_says_so() -> None:
    many = {"network": {"fabric": "rotor", "racks": 20, "hosts": 1}, "flows": [flow("f", "h1", "h2")]}
    asked = Shown.of(Scenario.from_dict(many))
    found = next(panel for panel in panels(asked) if panel.ordered)
    assert (len(found.rows), found.left_out) == (MOST_ROWS, 20 - MOST_ROWS)
    assert f"{20 - MOST_ROWS} more rows" in read(picture(asked))


def test_many_hosts_are_one_symbol_with_a_count() -> None:
    words = read(drawn("rotor")).splitlines()
    assert words.count("8 hosts") == 8
    assert "h[57-64]" in words
    assert "h1" not in words


def test_hosts_without_a_flow_are_beside_those_of_their_name() -> None:
    few = {"network": "tdtcp", "flows": [{"name": "flow-[1-2]", "size": "1 GiB"}]}
    words = read(picture(Shown.of(Scenario.from_dict(few)))).splitlines()
    assert {"a[1-16]", "b[1-16]"} <= set(words)


def test_a_network_that_never_changes_shows_ways_without_an_axis_of_time() -> None:
    figure = drawn("dumbbell")
    (ax,) = charts(figure)
    assert not ax.get_xlabel()
    assert "Ways; nothing ever changes" in read(figure)
    assert "bottleneck" in [text.get_text() for text in ax.texts]


def test_over_circuits_a_way_is_one_of_several() -> None:
    network = {"fabric": "rotornet", "racks": 4, "routing": "vlb", "split": "packet"}
    asked = Shown.of(Scenario.from_dict({"network": network, "flows": [flow("f", src="h1", dst="h4")]}, text=True))
    words = read(picture(asked))
    assert "one of those that the circuits above give" in words
    assert "nothing ever changes" not in words
    assert "routing vlb by packet" in words
    (row,) = rows.flows(asked)
    assert str(row["there"]).startswith("such as up1-")


def test_a_program_of_ones_own_decides() -> None:
    asked = Shown.of(Scenario.load("p4/examples/parity.yaml"))
    words = read(picture(asked))
    assert "switch: bmv2 with parity.json" in words
    assert "as parity.json decides" in words
    assert data(asked)["program"].endswith("parity.json")


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_picture_has_the_same_bytes_each_time(kind: str) -> None:
    first, second = (image(shown("aykurt"), kind) for _ in range(2))
    assert first == second


def test_data_has_the_ways_there_and_back_and_each_switchs_part() -> None:
    found = data(shown("late"))
    assert [(way["flows"], way["direction"]) for way in found["ways"]] == [
        (["fn"], "there"), (["fm"], "there"), (["fn"], "back"), (["fm"], "back"),
    ]  # fmt: skip
    there, _, back, _ = found["ways"]
    assert there["cycle_ns"] == 2_000_000_000
    assert [slot["way"] for slot in there["slots"]] == [
        [{"switch": "left", "link": "l_n"}], [{"switch": "left", "link": "l_m"}],
    ]  # fmt: skip
    assert [slot["target"] for slot in there["switches"]["left"]["slots"]] == ["l_n", "l_m"]
    assert back["switches"]["right"]["phase_ns"] == back["switches"]["right"]["late_ns"] == 100_000_000


def test_data_has_the_queues_and_numbers_of_slots() -> None:
    forward = data(Shown.of(Scenario.from_dict(GROWING)))["ways"][0]
    assert forward["flows"] == ["flow-1", "flow-2", "flow-3"]
    assert [slot["tdn"] for slot in forward["slots"]] == [0, 0, 0, 1, 0]
    assert forward["slots"][1]["queue"] == {"bytes": None, "packets": 50}


def test_presets_show_their_flows_only_where_they_say_their_paths() -> None:
    assert Shown.preset("aykurt").flows == ()
    assert not ways_of(Shown.preset("aykurt"))
    assert {flow.name for flow in Shown.preset("two-switches").flows} == {"fn", "fm"}
    assert len(Shown.preset("tdtcp").flows) == 16
    assert all(not way.flows for way in ways_of(Shown.preset("rotor")))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["h1"], "h1"),
        (["h1", "h2", "h4"], "h[1-2], h4"),
        (["up1-1", "up1-2", "up2-1", "up2-2"], "up[1-2]-[1-2]"),
        ([f"r{a}-r{b}" for a in range(1, 4) for b in range(1, 4) if a != b], "r1-r2, r1-r3 ... r3-r2"),
        (["a1-b1", "a2-b2"], "a1-b1, a2-b2"),
        (["h01", "h02"], "h0[1-2]"),
        ([], ""),
    ],
)
def test_names_are_joined(names: list[str], words: str) -> None:
    assert compress(names) == words


def test_quantities_are_exact_and_short() -> None:
    assert readable(DURATION, 0) == "0 ns"
    assert readable(DURATION, 46_257) == "46.257 us"
    assert readable(DURATION, 1_400_000) == "1.4 ms"
    assert readable(SIZE, 65_536) == "64 KiB"
    assert readable(RATE, 2_500_000_000) == "2.5 Gb/s"
    assert readable(SIZE, 1_000_000_001) == "1000000001 B"


def test_a_notebook_shows_the_picture_and_otherwise_the_yaml() -> None:
    scenario = Scenario.from_dict(AYKURT)
    bundle = scenario._repr_mimebundle_()
    assert bundle is not None
    contents, shown_as = bundle
    assert contents["image/png"].startswith(b"\x89PNG")
    assert contents["text/plain"] == scenario.dump()
    assert shown_as == {"image/png": {"width": 814}}


def test_rdcnlab_does_not_import_matplotlib() -> None:
    code = "import sys, rdcnlab; rdcnlab.Scenario; print([m for m in sys.modules if m.startswith('matplotlib')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_steps_of_a_tdtcp_schedule_have_all_its_slots() -> None:
    way = ways_of(Shown.of(Scenario.from_dict(TDTCP)))[0]
    (step,) = way.steps
    assert isinstance(step, Step)
    assert step.durations == (1_180_000, 20_000, 180_000, 20_000)


def test_a_single_link_of_its_kind_is_called_so() -> None:
    fabric = {"fabric": "leaf-spine", "leaves": 3, "spines": 2, "hosts": 2, "rate": "40 Gb/s", "delay": "1 us"}
    flow = {"name": "f", "src": "h1", "dst": "h3", "size": "1 MB"}
    scenario = Scenario.from_dict({"network": fabric, "flows": [flow]})
    words = read(picture(Shown.of(scenario.with_(**{"network.links.leaf1-spine1.delay": "2 us"}))))
    assert "1 link\n" in words
    assert "5 links, each\n" in words
    assert "1 links" not in words


def test_a_line_of_thousands_of_names_is_cut_where_it_ends_and_measured_a_few_times() -> None:
    text = ", ".join(f"w.{number}" for number in range(10_000))
    paint.width.cache_clear()
    short = paint.shorten(text, 1.2, 7.0)
    assert paint.width.cache_info().misses < 20
    kept = short.removesuffix(" ...")
    assert text.startswith(kept)
    assert paint.width(short, 7.0) <= 1.2 < paint.width(f"{text[: len(kept) + 3]} ...", 7.0)
    assert paint.shorten("w.1", 1.2, 7.0) == "w.1"
