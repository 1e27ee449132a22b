# SPDX-License-Identifier: Apache-2.0
"""How ns-3 is built stands beside every speed, as the wheel's own configuration says."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.engines.ns3 import build
from rdcnlab.system import places


@pytest.mark.parametrize(
    ("definitions", "words"),
    [
        (
            "__LINUX__;NS3_BUILD_PROFILE_RELEASE;NS3_LOG_ENABLE;NS3_ASSERT_ENABLE",
            "a release build with assertions and logging",
        ),
        ("NS3_BUILD_PROFILE_RELEASE;NS3_LOG_ENABLE", "a release build with logging"),
        ("NS3_BUILD_PROFILE_OPTIMIZED", "an optimized build without assertions and logging"),
        ("HAVE_GSL", "a build of unknown profile without assertions and logging"),
        (None, "a build whose options are not known"),
    ],
)
def test_the_build_of_a_wheel_is_what_its_configuration_says(
    tmp_path: Path, definitions: str | None, words: str
) -> None:
    if definitions is not None:
        path = tmp_path / "lib64" / "cmake" / "ns3" / "ns3Targets.cmake"
        path.parent.mkdir(parents=True)
        path.write_text(f'  INTERFACE_COMPILE_DEFINITIONS "{definitions}"\n')
    assert build.Wheel("3.44", tmp_path).build == words


@pytest.mark.skipif(not build.installed(), reason="ns-3 is not installed")
def test_documents_say_how_the_ns3_is_built_with_which_the_kernel_is_compared() -> None:
    assert build.words() == "a release build with assertions and logging"
    for name in ("ns3", "vargas"):
        text = " ".join((places.tree() / "docs" / "decisions" / f"{name}.md").read_text().split())
        assert "a release build with assertions and logging" in text
