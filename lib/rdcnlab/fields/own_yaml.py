# SPDX-License-Identifier: Apache-2.0
"""Read the YAML files of the package: claims, preset networks, older kernels."""

from __future__ import annotations

from typing import Any

import yaml

#: The reader that uses libyaml takes an eighth of the time. PyYAML is without it where no compiled wheel exists.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse(text: str) -> Any:
    """Return the data of YAML text, as `yaml.safe_load` does.

    Files of users are read by `rdcnlab.scenario.document`, which says what is wrong with them.
    """
    return yaml.load(text, Loader=_LOADER)
