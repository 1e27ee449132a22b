# SPDX-License-Identifier: Apache-2.0
"""For any input the result is a scenario or an `InputError`, and the command's exit code is 0 or 2."""

from __future__ import annotations

import contextlib
import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdcnlab.fields.errors import InputError, Problem
from rdcnlab.scenario import Scenario
from tests.conftest import TWO_FLOWS

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.text(max_size=20),
    st.binary(max_size=5),
    st.dates(),
    st.sampled_from(
        ["50 ms", "-1 ms", "0 s", "1 ns", "10 Gb/s", "2 GiB", "green", "dark", "cubic", "aykurt", "auto", "s1"]
    ),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(st.text(max_size=8), SCALARS), inner, max_size=4)
    ),
    max_leaves=8,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return every position in nested data, including the whole."""
    if isinstance(value, dict):
        return [path, *(place for key, item in value.items() for place in places(item, (*path, key)))]
    if isinstance(value, list):
        return [path, *(place for index, item in enumerate(value) for place in places(item, (*path, index)))]
    return [path]


FULL = Scenario.from_dict(TWO_FLOWS).to_dict()


@given(place=st.sampled_from(places(FULL)), value=ANYTHING, text=st.booleans())
@settings(max_examples=500, deadline=None)
def test_any_value_at_any_place(place: tuple[Any, ...], value: Any, text: bool) -> None:
    data: Any = copy.deepcopy(FULL)
    if place:
        holder = data
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = value
    else:
        data = value
    check(data, text)


@given(data=st.dictionaries(st.sampled_from([*FULL, "foo", ""]), ANYTHING), text=st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_mapping(data: dict[str, Any], text: bool) -> None:
    check(data, text)


def check(data: Any, text: bool) -> None:
    problems: tuple[Problem, ...] = ()
    scenario = None
    try:
        scenario = Scenario.from_dict(data, text=text)
    except InputError as error:
        problems = error.problems
    assert (scenario is None) == bool(problems)
    assert all(problem.field and problem.value and problem.allowed for problem in problems)
    assert all(len(str(problem)) < 2000 for problem in problems)
    if scenario is not None:
        assert Scenario.from_dict(scenario.to_dict()).hash == scenario.hash


@given(
    name=st.one_of(
        st.text(max_size=20), st.sampled_from([".".join(map(str, place)) for place in places(FULL) if place])
    ),
    value=ANYTHING,
)
@settings(max_examples=300, deadline=None)
def test_any_change(name: str, value: Any) -> None:
    with contextlib.suppress(InputError):
        Scenario.from_dict(TWO_FLOWS).with_(**{name: value})


@given(content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
@settings(max_examples=300, deadline=None)
def test_any_file(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    for name in ("x.yaml", "x.json"):
        path = tmp_path_factory.mktemp("fuzz") / name
        path.write_bytes(content)
        with pytest.raises(InputError):
            Scenario.load(path)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]",
        "flows: &a [*a, *a]\nnetwork: aykurt",
        "a: &a [x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nflows: [*c, *c, *c]",
        "{" * 5000,
        "[" * 5000,
        "limit: 2001-99-99",
        "? [a, b]\n: c",
        "seed: " + "9" * 5000,
        "!!python/object/apply:os.system ['true']",
        "<<: 3",
        "\x00",
        "",
        "- 1",
        "null",
    ],
)
def test_tricks(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError):
        Scenario.load(path)


@pytest.mark.parametrize("path", ["/nonexistent", "/", "\0", "/dev/null", "x" * 5000])
def test_no_file(path: str) -> None:
    with pytest.raises(InputError):
        Scenario.load(path)
