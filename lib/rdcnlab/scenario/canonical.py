# SPDX-License-Identifier: Apache-2.0
"""`Canonical`: the plain data of a scenario, their text and their hash, and what seeds of a scenario share of them."""

from __future__ import annotations

import copy
import functools
import hashlib
from typing import TYPE_CHECKING, Any

from rdcnlab.fields.quantities import Frozen, canonical_fields, canonical_json, every_text, plain, plain_text
from rdcnlab.scenario.families import Family
from rdcnlab.scenario.identity import NO_SEED, hashed_text, without

if TYPE_CHECKING:
    from rdcnlab.scenario.flow import Flow
    from rdcnlab.scenario.network import Network
    from rdcnlab.scenario.user_file import UserFile


class Canonical(Frozen):
    """A scenario as canonical data. Equal scenarios have equal data, and equal hashes."""

    if TYPE_CHECKING:  # `Scenario` has them

        @property
        def network(self) -> Network:
            """See `Scenario`."""

        @property
        def seed(self) -> int:
            """See `Scenario`."""

        @property
        def stated(self) -> tuple[Flow, ...]:
            """See `Scenario`."""

        @property
        def user_files(self) -> list[UserFile]:
            """See `Scenario`."""

    @functools.cached_property
    def _family(self) -> Family:
        """What was computed for this scenario or for one that shares all its parts except the seed."""
        return Family()

    @functools.cached_property
    def _every_field(self) -> dict[str, str]:
        """Each field as JSON, also fields with their default; a copy of the scenario's data is read from it."""
        texts = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: every_text(value) for name, value in {**texts, "flows": self.stated}.items()}

    @functools.cached_property
    def canonical(self) -> dict[str, Any]:
        """The result of `to_dict`, computed once for each part of the scenario; callers must not change it."""
        if self._family.canonical is None:
            self._family.canonical = {name: plain(value) for name, value in self._canonical_fields().items()}
        return {**self._family.canonical, "seed": self.seed}

    def _canonical_fields(self) -> dict[str, Any]:
        return {**canonical_fields(self), "flows": self.stated}

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as canonical plain data: every field, with integers in base units."""
        # not by pydantic, which makes an error of Ctrl-C while it writes
        return copy.deepcopy(self.canonical)

    def json(self) -> str:  # type: ignore[override]
        """Return the canonical JSON: one line, sorted keys."""
        return canonical_json(self.canonical)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Canonical) and self.hash == other.hash

    def __hash__(self) -> int:
        return int(self.hash[:15], 16)

    @functools.cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON in hexadecimal; labels of networks and paths of programs do not count."""
        before, after = self._around_seed
        return hashlib.sha256(f'{before}"seed":{self.seed}{after}'.encode()).hexdigest()

    @property
    def setting(self) -> str:
        """The same for scenarios that differ in their seed only, as the runs of a repeated experiment do."""
        return hashlib.sha256("".join(self._around_seed).encode()).hexdigest()

    @property
    def _around_seed(self) -> list[str]:
        """The text that is hashed before and after the seed; scenarios of many seeds share it."""
        if self._family.around_seed is None:
            self._family.around_seed = self._hashed_text().split(f'"seed":{NO_SEED}')
        return self._family.around_seed

    def _hashed_text(self) -> str:
        """Return the text that `hash` is computed from, with a mark instead of the seed."""
        if self.user_files:
            return hashed_text({**self.canonical, "seed": NO_SEED})
        texts = {**self._texts, "network": self.network.unnamed_text, "seed": str(NO_SEED)}
        return "{" + ",".join(f'"{name}":{texts[name]}' for name in sorted(texts)) + "}"

    @property
    def _texts(self) -> dict[str, str]:
        """Canonical JSON of each field except network and seed; scenarios of other thresholds share it, too."""
        if self._family.texts is None:
            fields = without(without(self._canonical_fields(), "network"), "seed")
            self._family.texts = {name: plain_text(value) for name, value in fields.items()}
        return self._family.texts
