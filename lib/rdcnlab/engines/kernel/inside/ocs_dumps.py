# SPDX-License-Identifier: Apache-2.0
"""What the kernel's circuit switch returns: its settings, in the form of the calls that make them, and counters."""

from __future__ import annotations

from typing import Any

from ocs_connection import Connection, port_name
from ocs_steps import decoded


def difference(account: dict[str, Any]) -> tuple[int, int]:
    """Return the frames and bytes of an account that are nowhere; (0, 0) if it is balanced."""
    there = [account.get(name, (0, 0)) for name in ("delivered", "ended", "queued", "flying")]
    there += account["drops"].values()
    come = [account.get(name, (0, 0)) for name in ("entered", "made")]
    frames, size = (sum(count[i] for count in come) - sum(count[i] for count in there) for i in (0, 1))
    return frames, size


class Dumps(Connection):
    """The settings and counters of one switch."""

    def stats(self) -> dict[str, dict[object, dict[str, object]]]:
        """Return settings and counters: ``links``, ``pools`` and ``classes`` by id, ``ports`` by name.

        A port has ``notify`` and, by prefix, ``prefixes`` if its host is notified.
        """
        out: dict[str, dict[object, dict[str, object]]] = {"links": {}, "pools": {}, "classes": {}, "ports": {}}
        plural = {"link": "links", "pool": "pools", "class": "classes", "port": "ports"}
        for name, value in self._dump():
            if name == "port" and "number" not in value:
                notify = value["notify"]
                prefix = f"{notify.pop('prefix')}/{notify.pop('prefix_len')}"
                port = out["ports"][port_name(value["ifindex"])]
                port.setdefault("prefixes", {})[prefix] = notify  # type: ignore[index]
            elif name in plural and "slots" not in value:
                key = value.pop("id", None)
                out[plural[name]][port_name(value["ifindex"]) if key is None else key] = value
        return out

    def accounts(self) -> dict[str, dict[object, dict[str, Any]]]:
        """Return where every frame has got to: the accounts of ``links``, ``classes``, ``ports`` and the ``switch``.

        An account has ``entered``, ``made``, ``delivered``, ``ended``, ``queued``, ``flying``, each with frames and
        bytes, and ``drops`` by reason; what is 0 is left out. For each account but that of a port, entered + made =
        delivered + ended + queued + flying + the sum of drops; `difference` computes it. The keys of ``links`` are the
        ids of internal links and, for the links of ports, (name of the port, ``link`` or ``ingress``). ``switch`` has
        one account, by the name of the switch: the sum of all, with what has been removed.
        """
        out: dict[str, dict[object, dict[str, Any]]] = {"links": {}, "classes": {}, "ports": {}, "switch": {}}
        for name, value in self._dump(accounts=True):
            if name == "account":
                out["switch"][self.ifname] = value
            elif "account" in value and name == "port":
                port = port_name(value["ifindex"])
                out["ports"][port] = value["account"]
                for end in ("link", "ingress"):
                    out["links"][port, end] = value[end]["account"]
            elif "account" in value:
                out["classes" if name == "class" else "links"][value["id"]] = value["account"]
        return out

    def timetables(self) -> dict[int, list[dict[str, int]]]:
        """Return the slots of each class by its id, in the form that `class_set` takes."""
        out: dict[int, list[dict[str, int]]] = {}
        for name, value in self._dump():
            if name == "class" and "slots" in value:
                out.setdefault(value["id"], []).extend(value["slots"])
        return out

    def steps(self) -> dict[tuple[object, str], list[int] | list[tuple[int, int]]]:
        """Return the steps of links: (duration, rate), or instants.

        The key of an internal link is its id and ``link``, that of a link of a port is the port's name and ``link`` or
        ``ingress``.
        """
        forms: dict[tuple[object, str], int] = {}
        data: dict[tuple[object, str], list[bytes]] = {}
        for name, value in self._dump(steps=True):
            if name not in ("link", "port"):
                continue
            owner = value["id"] if name == "link" else port_name(value["ifindex"])
            ends = {"link": value} if name == "link" else {end: value.get(end, {}) for end in ("link", "ingress")}
            for end, link in ends.items():
                steps = link.get("steps", {})
                if "form" in steps:
                    forms[owner, end] = steps["form"]
                if "data" in steps:
                    data.setdefault((owner, end), []).append(steps["data"])
        return {key: decoded(forms[key], parts) for key, parts in data.items()}

    def rules(self) -> list[dict[str, object]]:
        """Return the rules in the order in which the kernel tries them, each as arguments of `rule_add`."""
        out = []
        for rule in (value for name, value in self._dump() if name == "rule"):
            rule["class_id"] = rule.pop("class")
            if "in_ifindex" in rule:
                rule["in_if"] = port_name(rule.pop("in_ifindex"))
            for name in ("src", "dst", "station"):
                if name in rule:
                    rule[name] = f"{rule[name]}/{rule.pop(f'{name}_len')}"
            out.append(rule)
        return out

    def fdb(self) -> dict[str, str]:
        """Return the port of each MAC address."""
        return {value["mac"]: port_name(value["port"]) for name, value in self._dump() if name == "fdb"}
