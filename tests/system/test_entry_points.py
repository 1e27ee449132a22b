# SPDX-License-Identifier: Apache-2.0
"""What other packages add is found by name; two of one name, and one that cannot be imported, are errors."""

from __future__ import annotations

from importlib import metadata

import pytest

from rdcnlab.fields.errors import RunError
from rdcnlab.system import entry_points

GROUP = "rdcnlab.commands"


def added(monkeypatch: pytest.MonkeyPatch, *values: tuple[str, str]) -> dict[str, metadata.EntryPoint]:
    made = [metadata.EntryPoint(name, value, GROUP) for name, value in values]
    monkeypatch.setattr(metadata, "entry_points", lambda group: made)
    entry_points.points.cache_clear()
    try:
        return entry_points.points(GROUP)
    finally:
        entry_points.points.cache_clear()


def test_names_are_in_alphabetical_order_and_what_they_name_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    found = added(monkeypatch, ("b", "math:pi"), ("a", "math"), ("b", "math:pi"))
    assert list(found) == ["a", "b"]
    assert entry_points.load(found["b"]) == pytest.approx(3.14159, abs=1e-5)


def test_two_packages_with_one_name_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunError, match="two packages add the name 'a': cmath and math"):
        added(monkeypatch, ("a", "math:pi"), ("a", "cmath:pi"))


@pytest.mark.parametrize("value", ["nobody_has_this", "math:tau_and_more"])
def test_what_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    (point,) = added(monkeypatch, ("mine", value)).values()
    with pytest.raises(RunError, match=rf"{GROUP}: 'mine' of (nobody_has_this|math) cannot be imported"):
        entry_points.load(point)


def test_a_package_that_is_not_installed_has_no_directory() -> None:
    assert entry_points.directory("nobody_has_this") is None
    directory = entry_points.directory("rdcnlab")
    assert directory is not None
    assert directory.name == "rdcnlab"
