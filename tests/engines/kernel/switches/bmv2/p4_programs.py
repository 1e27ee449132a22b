# SPDX-License-Identifier: Apache-2.0
"""``p4/examples/forward.json``, written without a compiler, and variants of it that record what they see.

``python -m tests.engines.kernel.switches.bmv2.p4_programs`` writes the file. Where p4c is installed,
a test compiles ``forward.p4`` and runs it beside this one.
"""

from __future__ import annotations

import json
from typing import Any

from rdcnlab.system import places

PATH = places.p4() / "examples" / "forward.json"
_STANDARD = {
    "ingress_port": 9, "egress_spec": 9, "egress_port": 9, "instance_type": 32, "packet_length": 32,
    "enq_timestamp": 32, "enq_qdepth": 19, "deq_timedelta": 32, "deq_qdepth": 19, "ingress_global_timestamp": 48,
    "egress_global_timestamp": 48, "mcast_grp": 16, "egress_rid": 16, "checksum_error": 1, "parser_error": 32,
    "priority": 3, "_padding": 3,
}  # fmt: skip
_ETHERNET = {"dst": 48, "src": 48, "type": 16}
_IPV4 = {
    "version": 4, "ihl": 4, "dscp": 6, "ecn": 2, "length": 16, "identification": 16, "fragment": 16, "ttl": 8,
    "protocol": 8, "checksum": 16, "src": 32, "dst": 32,
}  # fmt: skip
_QUEUEING = ("enq_timestamp", "enq_qdepth", "deq_timedelta", "deq_qdepth")


def field(header: str, name: str) -> dict[str, Any]:
    return {"type": "field", "value": [header, name]}


def number(value: int) -> dict[str, Any]:
    return {"type": "hexstr", "value": hex(value)}


def of(op: str, left: Any, right: Any) -> dict[str, Any]:
    return {"type": "expression", "value": {"op": op, "left": left, "right": right}}


def assign(target: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    if value["type"] == "expression":
        value = {"type": "expression", "value": value}
    return {"op": "assign", "parameters": [target, value]}


def table(name: str, number_of: int, actions: list[tuple[str, int]], after: str | None, **more: Any) -> dict[str, Any]:
    """Return a table; its last action is the default."""
    last = actions[-1][1]
    return {
        "name": name, "id": number_of, "key": [], "match_type": "exact", "type": "simple", "max_size": 1024,
        "with_counters": False, "support_timeout": False, "direct_meters": None,
        "action_ids": [action for _, action in actions], "actions": [action for action, _ in actions],
        "base_default_next": after, "next_tables": dict.fromkeys((action for action, _ in actions), after),
        "default_entry": {"action_id": last, "action_const": False, "action_data": [], "action_entry_const": False},
        **more,
    }  # fmt: skip


def header_type(name: str, index: int, fields: dict[str, int]) -> dict[str, Any]:
    return {"name": name, "id": index, "fields": [[*one, False] for one in fields.items()]}


def header(name: str, index: int, kind: str, *, metadata: bool = False) -> dict[str, Any]:
    return {"name": name, "id": index, "header_type": kind, "metadata": metadata, "pi_omit": True}


def parser() -> dict[str, Any]:
    def extract(name: str) -> dict[str, Any]:
        return {"op": "extract", "parameters": [{"type": "regular", "value": name}]}

    end = {"type": "default", "value": None, "mask": None, "next_state": None}
    ipv4 = {"type": "hexstr", "value": "0x0800", "mask": None, "next_state": "parse_ipv4"}
    states = [
        {"name": "start", "id": 0, "parser_ops": [extract("ethernet")], "transitions": [ipv4, end],
         "transition_key": [field("ethernet", "type")]},
        {"name": "parse_ipv4", "id": 1, "parser_ops": [extract("ipv4")], "transitions": [end], "transition_key": []},
    ]  # fmt: skip
    return {"name": "parser", "id": 0, "init_state": "start", "parse_states": states}


def forward(record: tuple[str, str] | None = None) -> dict[str, Any]:
    """Return the program; with `record`, egress also writes this field into the identification of IPv4."""
    most = field("scalars", "most")
    ecn, spec = field("ipv4", "ecn"), field("standard_metadata", "egress_spec")
    route = [
        assign(spec, {"type": "runtime_data", "value": 1}),
        assign(field("ethernet", "src"), field("ethernet", "dst")),
        assign(field("ethernet", "dst"), {"type": "runtime_data", "value": 0}),
        assign(field("ipv4", "ttl"), of("&", of("-", field("ipv4", "ttl"), number(1)), number(255))),
    ]
    threshold = {"type": "register_array", "value": "ForwardEgress.threshold"}
    begin = [{"op": "register_read", "parameters": [most, threshold, number(0)]}]
    if record is not None:
        begin.append(assign(field("ipv4", "identification"), field(*record)))
    actions = [
        {"name": "ForwardIngress.drop", "id": 0, "runtime_data": [], "primitives": [
            {"op": "mark_to_drop", "parameters": [{"type": "header", "value": "standard_metadata"}]}]},
        {"name": "ForwardIngress.forward", "id": 1, "primitives": route,
         "runtime_data": [{"name": "mac", "bitwidth": 48}, {"name": "port", "bitwidth": 9}]},
        {"name": "read_threshold", "id": 2, "runtime_data": [], "primitives": begin},
        {"name": "mark", "id": 3, "runtime_data": [], "primitives": [assign(ecn, number(3))]},
    ]  # fmt: skip
    key = [{"match_type": "lpm", "name": "hdr.ipv4.dst", "target": ["ipv4", "dst"], "mask": None}]
    routes = table(
        "ForwardIngress.routes", 0, [("ForwardIngress.forward", 1), ("ForwardIngress.drop", 0)], None,
        key=key, match_type="lpm",
    )  # fmt: skip
    capable = of("or", of("==", ecn, number(1)), of("==", ecn, number(2)))
    deep = of(">=", field("standard_metadata", "enq_qdepth"), most)
    marks = {"name": "is_marked", "id": 0, "expression": of("and", of("and", of("!=", most, number(0)), deep), capable),
             "true_next": "tbl_mark", "false_next": None}  # fmt: skip
    covered = [field("ipv4", name) for name in _IPV4 if name != "checksum"]
    standard = {
        **{f"queueing_metadata.{name}": name for name in _QUEUEING},
        "intrinsic_metadata.ingress_global_timestamp": "ingress_global_timestamp",
        "intrinsic_metadata.mcast_grp": "mcast_grp",
        "intrinsic_metadata.egress_rid": "egress_rid",
        "intrinsic_metadata.priority": "priority",
    }
    return {
        "header_types": [
            header_type("scalars_0", 0, {"most": 19, "_padding_0": 5}),
            header_type("standard_metadata", 1, _STANDARD),
            header_type("ethernet_t", 2, _ETHERNET),
            header_type("ipv4_t", 3, _IPV4),
        ],
        "headers": [
            header("scalars", 0, "scalars_0", metadata=True),
            header("standard_metadata", 1, "standard_metadata", metadata=True),
            header("ethernet", 2, "ethernet_t"),
            header("ipv4", 3, "ipv4_t"),
        ],
        "header_stacks": [], "header_union_types": [], "header_unions": [], "header_union_stacks": [],
        "field_lists": [], "errors": [], "enums": [], "parsers": [parser()], "parse_vsets": [],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["ethernet", "ipv4"], "primitives": []}],
        "meter_arrays": [], "counter_arrays": [],
        "register_arrays": [{"name": "ForwardEgress.threshold", "id": 0, "size": 1, "bitwidth": 19}],
        "calculations": [{"name": "calc", "id": 0, "algo": "csum16", "input": covered}],
        "learn_lists": [],
        "actions": actions,
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": "ForwardIngress.routes", "tables": [routes],
             "action_profiles": [], "conditionals": []},
            {"name": "egress", "id": 1, "init_table": "tbl_read", "action_profiles": [], "conditionals": [marks],
             "tables": [table("tbl_read", 1, [("read_threshold", 2)], "is_marked"),
                        table("tbl_mark", 2, [("mark", 3)], None)]},
        ],
        "checksums": [
            {"name": "cksum", "id": 0, "target": ["ipv4", "checksum"], "type": "generic", "calculation": "calc",
             "verify": False, "update": True,
             "if_cond": {"type": "expression", "value": {
                 "op": "d2b", "left": None, "right": field("ipv4", "$valid$")}}}
        ],
        "force_arith": [], "extern_instances": [],
        "field_aliases": [[alias, ["standard_metadata", name]] for alias, name in standard.items()],
    }  # fmt: skip


def text(record: tuple[str, str] | None = None) -> str:
    return json.dumps(forward(record), indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
