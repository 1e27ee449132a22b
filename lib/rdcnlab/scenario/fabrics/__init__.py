# SPDX-License-Identifier: Apache-2.0
"""Networks of any size from a few parameters: ``network: {fabric: leaf-spine, leaves: 4, spines: 2, hosts: 8}``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import TEXT
from rdcnlab.scenario.check import input_error
from rdcnlab.scenario.elements import Link
from rdcnlab.scenario.fabrics.architectures import ARCHITECTURES
from rdcnlab.scenario.fabrics.base import Fabric
from rdcnlab.scenario.fabrics.on_demand import Helios
from rdcnlab.scenario.fabrics.optical import OwnCircuits
from rdcnlab.scenario.fabrics.rotor import Rotor
from rdcnlab.scenario.fabrics.shared_queue import SharedQueue
from rdcnlab.scenario.fabrics.switched import Dumbbell, LeafSpine
from rdcnlab.scenario.fabrics.wide_area import WideArea
from rdcnlab.scenario.line import Changing
from rdcnlab.scenario.network import Network
from rdcnlab.scenario.queueing import Queueing
from rdcnlab.scenario.user_file import DIRECTORY

FABRICS: dict[str, type[Fabric]] = {
    **ARCHITECTURES,
    "helios": Helios,
    "circuits": OwnCircuits,
    "dumbbell": Dumbbell,
    "leaf-spine": LeafSpine,
    "rotor": Rotor,
    "shared-queue": SharedQueue,
    "wide-area": WideArea,
}
#: What a link may have, and most fabrics do not set.
_OF_LINKS = Queueing.model_fields.keys() | Changing.model_fields.keys()


def fabric(parameters: dict[str, Any], *, text: bool = False, directory: Path | None = None) -> Network:
    """Return the network that a fabric and its parameters describe.

    Parameters
    ----------
    parameters : dict
        ``fabric``, one of `FABRICS`, and fields of that class; optionally ``name``.
    text : bool
        Whether to refuse quantities without a unit, as in files.
    directory : Path, optional
        Where relative paths of files start; the working directory by default.

    Raises
    ------
    InputError
        The fabric does not exist, or a parameter or value is not allowed.
    """
    fields = dict(parameters)
    kind, name = fields.pop("fabric"), fields.pop("name", None)
    if not isinstance(kind, str) or kind not in FABRICS:
        raise InputError.unknown("network.fabric", kind, FABRICS, "fabric")
    try:
        instance = FABRICS[kind].model_validate(fields, context={TEXT: text, DIRECTORY: directory})
    except ValidationError as error:
        for field in fields.keys() & _OF_LINKS - FABRICS[kind].model_fields.keys():
            raise InputError.of(f"network.{field}", fields[field], reason=_of_links(kind, field)) from None
        raise input_error(error, FABRICS[kind]).below("network") from None
    try:
        return Network.model_validate({"name": name or kind, "ends": instance.ends, **instance.data()})
    except ValidationError as error:
        raise input_error(error, Network).below("network") from None


def _of_links(kind: str, field: str) -> str:
    """Return what to do instead of giving a field of links to a fabric."""
    others = [name for name in FABRICS[kind].model_fields if name in Link.model_fields]
    # a link has either of them
    without = ", 'network.links.LINK.buffer': None" if field in ("aqm", "pool") else ""
    return (
        f"'{field}' is a field of single links, and the fabric {kind} sets for all links: {', '.join(others)}. "
        f"In code, with_(**{{'network.links.LINK.{field}': ...{without}}}) sets {field} of a link of the fabric"
    )
