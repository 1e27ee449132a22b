# SPDX-License-Identifier: Apache-2.0
"""One queue that near and far senders share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from rdcnlab.fields.quantities import Duration, FieldError, Rate, whole
from rdcnlab.scenario.fabrics.base import Queued


class SharedQueue(Queued):
    """Two groups of senders, near and far, and one receiver behind one queue: the link ``shared``.

    Senders are ``n1``, ``n2`` ... and ``f1``, ``f2`` ...; the receiver is ``r``. There is one switch. Data take the
    link ``shared``, with `rate`, `delay` and the queue; ACKs bypass it. The senders' cables have `host_rate`.

    Parameters
    ----------
    near, far : int
        Number of senders of each group.
    near_rtt, far_rtt : int
        Propagation RTT in ns between the senders of a group and the receiver, without `delay`. The receiver's cable has
        half of `near_rtt` in each direction, as near senders are at the switch; the far senders' cables have the rest.
    receiver_rate : int
        Rate of the receiver's cable in bit/s. No packet waits there if it is above `rate`.
    """

    near: Annotated[int, whole(1, 100)] = 10
    far: Annotated[int, whole(1, 100)] = 10
    near_rtt: Duration = 50_000
    far_rtt: Duration = 50_000_000
    delay: Duration = 0
    receiver_rate: Rate = 100_000_000_000

    @model_validator(mode="after")
    def _far_is_farther(self) -> SharedQueue:
        if self.far_rtt < self.near_rtt:
            raise FieldError("far_rtt", self.far_rtt, f"at least near_rtt ({self.near_rtt} ns)")
        if self.receiver_rate <= self.rate:
            raise FieldError(
                "receiver_rate", self.receiver_rate, f"above rate ({self.rate} bit/s), so that nothing waits"
            )
        return self

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        groups = (("n", self.near, 0), ("f", self.far, (self.far_rtt - self.near_rtt) // 2))
        hosts = [
            {"name": f"{letter}{number}", "rate": self.host_rate, "delay": delay}
            for letter, count, delay in groups
            for number in range(1, count + 1)
        ]
        hosts.append({"name": "r", "rate": self.receiver_rate, "delay": self.near_rtt // 2})
        link = {name: value for name, value in self.link("shared", "", "").items() if name != "between"}
        return {"mtu": self.mtu, "overhead": self.overhead, "hosts": hosts, "links": [link]}
