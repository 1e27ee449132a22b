# SPDX-License-Identifier: Apache-2.0
"""What the kernel's circuit switch returns: its settings, in the form of the calls that make them, and counters."""

from __future__ import annotations

from ocs_connection import Connection, port_name
from ocs_steps import decoded


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
                found = link.get("steps", {})
                if "form" in found:
                    forms[owner, end] = found["form"]
                if "data" in found:
                    data.setdefault((owner, end), []).append(found["data"])
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
