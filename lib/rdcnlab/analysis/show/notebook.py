# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of a scenario. It is loaded with rdcnlab, so it draws only when it is asked."""

from __future__ import annotations

from typing import Any

from rdcnlab.scenario import Scenario

#: Pixels of a picture's width in a notebook. It has more, for screens that show them.
_PIXELS = 814


def bundle(scenario: Scenario) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a scenario's picture and, for what shows no pictures, its YAML.

    Parameters
    ----------
    scenario : Scenario
        Any.

    Returns
    -------
    (dict, dict)
        Contents by MIME type, and the width of the picture.
    """
    from rdcnlab.analysis.show.picture import image
    from rdcnlab.analysis.show.ways import Shown

    contents = {"image/png": image(Shown.of(scenario), "png"), "text/plain": scenario.dump()}
    return contents, {"image/png": {"width": _PIXELS}}
