# SPDX-License-Identifier: Apache-2.0
"""Display of a scenario in a notebook. It is loaded with rdcnlab, so it imports drawing modules only when needed."""

from __future__ import annotations

from typing import Any

from rdcnlab.scenario import Scenario

#: Width of a picture in a notebook, in pixels. The image itself has more pixels, for screens of high resolution.
_PIXELS = 814


def bundle(scenario: Scenario) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the picture of a scenario, and its YAML for programs that show no pictures.

    Parameters
    ----------
    scenario : Scenario
        Scenario to show.

    Returns
    -------
    (dict, dict)
        Contents by MIME type, and the width of the picture.
    """
    from rdcnlab.analysis.show.picture import image
    from rdcnlab.analysis.show.ways import Shown

    contents = {"image/png": image(Shown.of(scenario), "png"), "text/plain": scenario.dump()}
    return contents, {"image/png": {"width": _PIXELS}}
