# SPDX-License-Identifier: Apache-2.0
"""The depth of the queue behind a port, computed inside a user's P4 program.

BMv2's own queues are always empty, because rates are those of lines behind its ports. So the fields that v1model has
for queues (``enq_qdepth``, ``deq_qdepth``, ``deq_timedelta``) would always be 0. This module adds a table to the begin
of egress, whose action computes them. With L bytes of a packet that comes at instant t to a line of rate R::

    start = max(t, free)      when its first bit leaves; it waits until then
    free  = start + 8 (L + overhead) / R
    depth = number of earlier packets with start > t

The instants of waiting packets are in a ring of registers. A packet that finds no room in the line's queue is not
counted, because the queue drops it. BMv2 runs an action's primitives one after the other, and ``_jump`` goes to any of
them, so the action has a loop that takes packets out of the ring; P4 itself has none.
"""

from __future__ import annotations

import json
from typing import Any

#: Instants are in units of 2**-20 ns, because the time of a byte is no whole number of ns; BMv2's clock has us.
FINE, US = 2**20, 1000 * 2**20
TABLE, ACTION, NONE, META = "rdcnlab.queues", "rdcnlab.depth", "rdcnlab.no_queue", "rdcnlab"
#: Fields of the added metadata, with their bits.
_FIELDS = {"now": 96, "free": 96, "start": 96, "head": 32, "tail": 32, "waiting": 32, "size": 32, "place": 32, "go": 8}
#: Arguments of the action, one entry for each port.
_ARGUMENTS = ("per_byte", "overhead", "packets", "bytes", "base", "mask")
#: Registers: of each port, and of each packet that waits.
_OF_PORT = {"free": 96, "head": 32, "tail": 32, "waiting": 32}
_OF_PACKET = {"start": 96, "size": 32}


def with_depths(text: str, queues: list[dict[str, int]]) -> tuple[str, list[str]]:
    """Return a compiled program that computes depths, and the commands that describe its queues.

    Parameters
    ----------
    text : str
        The program, JSON of BMv2.
    queues : list of dict
        The queues, as `rdcnlab.engines.kernel.switches.bmv2.depths.queues` returns them.
    """
    program = json.loads(text)
    aliases: dict[str, list[str]] = dict(program.get("field_aliases", []))

    def standard(name: str, group: str) -> list[str]:
        return aliases.setdefault(f"{group}.{name}", ["standard_metadata", name])

    fields = {
        name: standard(name, "queueing_metadata")
        for name in ("enq_timestamp", "enq_qdepth", "deq_timedelta", "deq_qdepth")
    }
    fields["clock"] = standard("egress_global_timestamp", "intrinsic_metadata")
    commands, begin = [], 0
    for queue in queues:
        room = 1 << max(0, queue["room"] - 1).bit_length()
        per_byte = round(8 * 10**9 * FINE / queue["rate"])
        values = [per_byte, queue["overhead"], queue["packets"], queue["bytes"], begin, room - 1]
        commands.append(f"table_add {TABLE} {ACTION} {queue['port']} => {' '.join(map(str, values))}")
        begin += room
    most = max(queue["port"] for queue in queues) + 1
    program["header_types"].append(
        {"name": META, "id": _free(program["header_types"]), "fields": [[*one, False] for one in _FIELDS.items()]}
    )
    program["headers"].append(
        {"name": META, "id": _free(program["headers"]), "header_type": META, "metadata": True, "pi_omit": True}
    )
    for name, bits in {f"port_{name}": bits for name, bits in _OF_PORT.items()}.items():
        _add_register(program, name, most, bits)
    for name, bits in {f"packet_{name}": bits for name, bits in _OF_PACKET.items()}.items():
        _add_register(program, name, begin, bits)
    number = _free(program["actions"])
    arguments = [{"name": name, "bitwidth": 64} for name in _ARGUMENTS]
    program["actions"] += [
        {"name": ACTION, "id": number, "runtime_data": arguments, "primitives": _primitives(fields)},
        {"name": NONE, "id": number + 1, "runtime_data": [], "primitives": []},
    ]
    egress = next(pipeline for pipeline in program["pipelines"] if pipeline["name"] == "egress")
    tables = [table for pipeline in program["pipelines"] for table in pipeline["tables"]]
    egress["tables"].append(
        {
            "name": TABLE, "id": _free(tables), "match_type": "exact", "type": "simple", "max_size": len(queues),
            "key": [{"match_type": "exact", "name": "port", "target": ["standard_metadata", "egress_port"],
                     "mask": None}],
            "with_counters": False, "support_timeout": False, "direct_meters": None,
            "action_ids": [number, number + 1], "actions": [ACTION, NONE],
            "base_default_next": egress["init_table"],
            "next_tables": {ACTION: egress["init_table"], NONE: egress["init_table"]},
            "default_entry": {"action_id": number + 1, "action_const": True, "action_data": [],
                              "action_entry_const": True},
        }
    )  # fmt: skip
    egress["init_table"] = TABLE
    program["field_aliases"] = [[name, field] for name, field in aliases.items()]
    return json.dumps(program), commands


def _free(things: list[dict[str, Any]]) -> int:
    return 1 + max((thing["id"] for thing in things), default=-1)


def _add_register(program: dict[str, Any], name: str, size: int, bits: int) -> None:
    arrays = program.setdefault("register_arrays", [])
    arrays.append({"name": f"{META}.{name}", "id": _free(arrays), "size": size, "bitwidth": bits})


def _primitives(fields: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Return the primitives of the action; ``_jump`` and ``_jump_if_zero`` name the place that they go to."""
    port = _field(["standard_metadata", "egress_port"])
    length = _field(["standard_metadata", "packet_length"])
    now, free, start, head, tail, waiting, size, place, go = (_field([META, name]) for name in _FIELDS)
    per_byte, overhead, packets, most, base, mask = (
        {"type": "local", "value": number} for number in range(len(_ARGUMENTS))
    )
    depth = _of("-", tail, head)
    idle = _of("<=", free, now)
    room = _of(
        "and",
        _of("or", _of("==", packets, _number(0)), _of("<", depth, packets)),
        _of("or", _of("==", most, _number(0)), _of("<=", _of("+", waiting, length), most)),
    )
    lines: list[Any] = [
        _assign(now, _of("*", _field(fields["clock"]), _number(US))),
        *(_read(_field([META, name]), f"port_{name}", port) for name in _OF_PORT),
        "next",
        # takes the packets out that no longer wait
        ("_jump_if_zero", depth, "rest"),
        _assign(place, _of("+", base, _of("&", head, mask))),
        _read(start, "packet_start", place),
        _assign(go, _as_number(_of("<=", start, now))),
        ("_jump_if_zero", go, "rest"),
        _read(size, "packet_size", place),
        _assign(waiting, _of("-", waiting, size)),
        _assign(head, _of("+", head, _number(1))),
        ("_jump", "next"),
        "rest",
        _assign(_field(fields["enq_qdepth"]), depth),
        _assign(_field(fields["deq_qdepth"]), depth),
        _assign(start, {"type": "expression", "value": {"op": "?", "left": now, "right": free, "cond": idle}}),
        _assign(_field(fields["deq_timedelta"]), _of("/", _of("-", start, now), _number(US))),
        _assign(go, _as_number(room)),
        ("_jump_if_zero", go, "end"),
        _assign(free, _of("+", start, _of("*", _of("+", length, overhead), per_byte))),
        _write("port_free", port, free),
        _assign(go, _as_number(_of(">", start, now))),
        ("_jump_if_zero", go, "end"),
        _assign(place, _of("+", base, _of("&", tail, mask))),
        _write("packet_start", place, start),
        _write("packet_size", place, length),
        _assign(tail, _of("+", tail, _number(1))),
        _assign(waiting, _of("+", waiting, length)),
        "end",
        *(_write(f"port_{name}", port, _field([META, name])) for name in ("head", "tail", "waiting")),
    ]
    places: dict[str, int] = {}
    for line in lines:
        if isinstance(line, str):
            places[line] = sum(not isinstance(one, str) for one in lines[: lines.index(line)])
    return [_jump(line, places) if isinstance(line, tuple) else line for line in lines if not isinstance(line, str)]


def _jump(line: tuple[Any, ...], places: dict[str, int]) -> dict[str, Any]:
    *test, place = line[1:]
    return {"op": line[0], "parameters": [*map(_parameter, test), _parameter(_number(places[place]))]}


def _field(names: list[str]) -> dict[str, Any]:
    return {"type": "field", "value": names}


def _number(value: int) -> dict[str, Any]:
    return {"type": "hexstr", "value": hex(value)}


def _of(op: str, left: Any, right: Any) -> dict[str, Any]:
    return {"type": "expression", "value": {"op": op, "left": left, "right": right}}


def _as_number(test: Any) -> dict[str, Any]:
    return {"type": "expression", "value": {"op": "b2d", "left": None, "right": test}}


def _parameter(value: dict[str, Any]) -> dict[str, Any]:
    """Return an argument of a primitive: an expression is written twice there, as p4c does."""
    return {"type": "expression", "value": value} if value["type"] in ("expression", "local") else value


def _assign(field: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    return {"op": "assign", "parameters": [field, _parameter(value)]}


def _register(name: str) -> dict[str, Any]:
    return {"type": "register_array", "value": f"{META}.{name}"}


def _read(field: dict[str, Any], name: str, place: dict[str, Any]) -> dict[str, Any]:
    return {"op": "register_read", "parameters": [field, _register(name), place]}


def _write(name: str, place: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    return {"op": "register_write", "parameters": [_register(name), place, value]}
