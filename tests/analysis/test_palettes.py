# SPDX-License-Identifier: Apache-2.0
"""Colours of flows and links: none in common, seen on white and on a dark page, told apart by the colour-blind."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.colors import to_rgb

from rdcnlab.analysis.palettes import FLOWS, LINKS, of_flows, of_links
from rdcnlab.scenario.congestion import CONTROLS

#: What full protanopia and deuteranopia leave of linear RGB (Machado, Oliveira and Fernandes 2009, table 1).
NORMAL = np.eye(3)
PROTANOPIA = np.array(
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
)
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
#: From linear RGB to the cone responses of Oklab, and from their cube roots to Oklab (Ottosson 2020).
CONES = np.array(
    [[0.4122215, 0.5363325, 0.0514460], [0.2119035, 0.6806995, 0.1073970], [0.0883025, 0.2817188, 0.6299787]]
)
OKLAB = np.array(
    [[0.2104543, 0.7936178, -0.0040720], [1.9779985, -2.4285922, 0.4505937], [0.0259040, 0.7827718, -0.8086758]]
)
#: Papers of pictures, and of the time-line in dark mode.
WHITE, DARK_PAGE = "#FFFFFF", "#16181C"


def linear(color: str) -> npt.NDArray[np.float64]:
    """Return the linear RGB of a colour."""
    values = np.array(to_rgb(color))
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(color: str, paper: str) -> float:
    """Return the contrast ratio of WCAG."""
    dark, light = sorted(float(linear(one) @ [0.2126, 0.7152, 0.0722]) for one in (color, paper))
    return (light + 0.05) / (dark + 0.05)


def apart(first: str, second: str, seen: npt.NDArray[np.float64]) -> float:
    """Return the distance of two colours in hundredths of Oklab, as somebody with some vision sees them."""
    places = [np.cbrt(np.clip(seen @ linear(one), 0, 1) @ CONES.T) @ OKLAB.T for one in (first, second)]
    return 100 * float(np.linalg.norm(places[0] - places[1]))


@pytest.mark.parametrize("colors", [FLOWS, tuple(LINKS.values())])
def test_each_colour_is_seen_on_white_and_on_a_dark_page(colors: Sequence[str]) -> None:
    assert all(contrast(color, WHITE) >= 1.85 and contrast(color, DARK_PAGE) >= 3 for color in colors)


def test_no_flow_has_a_colour_that_looks_like_that_of_a_link() -> None:
    pairs = list(itertools.product(FLOWS, LINKS.values()))
    assert min(apart(*pair, NORMAL) for pair in pairs) > 6
    assert min(apart(*pair, vision) for pair in pairs for vision in (PROTANOPIA, DEUTERANOPIA)) > 3


@pytest.mark.parametrize("colors", [FLOWS, tuple(LINKS.values())])
def test_the_colours_of_a_list_differ(colors: Sequence[str]) -> None:
    pairs = list(itertools.combinations(colors, 2))
    assert min(apart(*pair, NORMAL) for pair in pairs) > 9
    assert min(apart(*pair, vision) for pair in pairs for vision in (PROTANOPIA, DEUTERANOPIA)) > 3


def test_a_congestion_control_has_its_colour_in_pictures_of_runs_too() -> None:
    assert of_flows({name: name for name in CONTROLS}) == {name: control.color for name, control in CONTROLS.items()}


def test_flows_that_would_look_alike_have_colours_in_their_order() -> None:
    assert list(of_flows({"a": "cubic", "b": "cubic", "c": "bbr"}).values()) == list(FLOWS[:3])
    # one without a colour of its own takes one that no other has
    assert of_flows({"v": "vegas", "c": "cubic"}) == {"v": FLOWS[1], "c": CONTROLS["cubic"].color}
    many = of_flows({f"f{number}": "cubic" for number in range(20)})
    assert set(many.values()) == set(FLOWS)


def test_a_link_with_the_name_of_a_colour_has_it() -> None:
    colors = of_links(["left", "green", "blue"])
    assert (colors["green"], colors["blue"]) == (LINKS["green"], LINKS["blue"])
    assert len({*colors.values()}) == len(colors)
    assert "l0" not in of_links(f"l{number}" for number in range(len(LINKS) + 1))
