# SPDX-License-Identifier: Apache-2.0
"""Mutations of scenarios: whatever a file says, the answer is a plan of a run, or an error with a sentence.

A mutation is read, checked and compiled as for a run; nothing is run. It may use `SECONDS` of the processor and
`BYTES` of memory. ``python -m tests.scenario.mutate 600 7`` mutates for ten minutes, and prints what is found.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, get_args

import yaml
from pydantic import BaseModel

from rdcnlab.engines.kernel import plan as kernel_plan
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.ns3 import check as ns3_check
from rdcnlab.engines.ns3 import plan as ns3_plan
from rdcnlab.fields.errors import InputError, RdcnlabError
from rdcnlab.scenario import Scenario, cautions, document
from rdcnlab.scenario.fabrics import FABRICS
from tests.scenario.originals import FILES, OWN, place

#: Most seconds of the processor until a scenario is read or refused, and most memory of a process in addition to that
#: of Python and its modules.
SECONDS, BYTES = 5, 2**30
#: Seconds after which a process that uses no processor is ended: it waits for something.
_WAITING = 120
#: Flows that are read, written, read again and compiled in `SECONDS`.
_FLOWS = 3000

_LEAVES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    3,
    64,
    10**6,
    2**31,
    2**63,
    2**64 - 1,
    10**40,
    -(10**400),
    0.5,
    -0.0,
    1e308,
    float("inf"),
    float("nan"),
    "",
    " ",
    "\x00",
    "\ud800",
    "a\udcff.csv",
    "dark",
    "bypass",
    "same",
    "ecmp",
    "h[1-9999]",
    "h[1-99999999999]",
    "h[9-1]",
    "0 s",
    "1 ns",
    "50 ms",
    "24 h",
    "-3 ms",
    "1e300 s",
    "10 Gb/s",
    "1 b/s",
    "0 b/s",
    "0 B",
    "1 B",
    "2 GiB",
    "1000000 TiB",
    "9" * 400 + " s",
    "x" * 300,
    "x" * 3000,
    "x/" * 3000,
    "fast+slow",
    "+",
    b"bytes",
    b"\xff\xfe",
    "s1",
    "h1",
    "left",
    "cubic",
    "aykurt",
    "rotor",
    "10 packets",
    "unlimited",
    "0 %",
    "1 %",
    "100 %",
    "1e-9 %",
    "/dev/zero",
    "/dev/zero.csv",
    "..",
    "**/*",
    "{h1}",
    "'",
    *OWN,
    "small.pcap",
)


def originals() -> list[Any]:
    """Return the scenarios that mutations begin with, as plain data."""
    return [yaml.load(text, Loader=document._Loader) for text in FILES]


def mutations(count: int | None, seed: int) -> Iterator[Any]:
    """Yield changed scenarios as plain data, the same for the same seed; without a count they never end."""
    draw = random.Random(seed)
    begin = originals()
    while count is None or count > 0:
        data: Any = copy.deepcopy(draw.choice(begin))
        for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
            data = _changed(draw, data, begin)
        yield data
        count = None if count is None else count - 1


def _changed(draw: random.Random, data: Any, begin: list[Any]) -> Any:
    places = list(_places(data))
    holder, key = draw.choice(places) if places else (None, None)
    if holder is None or draw.random() < 0.002:
        return _garbage(draw, 0)
    what = draw.randrange(9)
    if what == 0:
        del holder[key]
    elif what == 1:
        holder[key] = _garbage(draw, 0)
    elif what == 2:
        other, place_of = draw.choice(list(_places(draw.choice(begin))))
        holder[key] = copy.deepcopy(other[place_of])
    elif what == 3:
        value = holder[key]
        holder[key] = draw.choice(([value], {"name": value}, str(value), [value, value], [value] * 300))
    elif what == 4 and isinstance(holder, dict):
        holder[draw.choice((*_fields(), "fabric", "trace", 3, None, "\ud800"))] = draw.choice(_LEAVES)
    elif what == 5 and isinstance(holder, dict):
        # a value of the same field elsewhere
        same = [other[place_of] for one in begin for other, place_of in _places(one) if place_of == key]
        holder[key] = copy.deepcopy(draw.choice(same)) if same else draw.choice(_LEAVES)
    elif what == 6 and isinstance(holder, list):
        holder.insert(draw.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
    elif what == 7 and isinstance(holder[key], int) and not isinstance(holder[key], bool):
        holder[key] = holder[key] * draw.choice((-1, 2, 10, 1000, 10**7)) + draw.choice((-1, 0, 1))
    elif what == 7 and isinstance(holder[key], str) and holder[key][:1].isdigit():
        number, _, unit = holder[key].partition(" ")
        with contextlib.suppress(ValueError):
            holder[key] = f"{float(number) * draw.choice((-1, 0, 1e-6, 1e-3, 0.5, 3, 1e3, 1e6, 1e12)):.12g} {unit}"
    else:
        holder[key] = draw.choice(_LEAVES)
    return data


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place of nested data as its container and its key."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


@functools.cache
def _fields() -> tuple[str, ...]:
    """Return the names of all fields of scenarios and fabrics."""
    found: dict[str, None] = {}
    seen: set[Any] = set()

    def walk(annotation: Any) -> None:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in seen:
            seen.add(annotation)
            for name, field in annotation.model_fields.items():
                found[name] = None
                walk(field.annotation)
        for argument in get_args(annotation):
            walk(argument)

    for model in (Scenario, *FABRICS.values()):
        walk(model)
    return tuple(found)


def _garbage(draw: random.Random, depth: int) -> Any:
    kind = draw.randrange(4 if depth < 4 else 2)
    if kind < 2:
        return copy.copy(draw.choice(_LEAVES))
    parts = [_garbage(draw, depth + 1) for _ in range(draw.randrange(4))]
    names = ("name", "fabric", "bytes", "kind", "link", "size", "x")
    return parts if kind == 2 else {draw.choice(names): part for part in parts}


def compiled(data: Any, text: bool, directory: Path) -> None:
    """Read a scenario, write it, and compile the plan of its run."""
    scenario = Scenario.from_dict(data, text=text, directory=directory)
    if signal.getitimer(signal.ITIMER_PROF)[0]:  # it is a signal that ends a process that does not wait for it
        # what is right may be large, and a plan has each of its flows
        signal.setitimer(signal.ITIMER_PROF, SECONDS * (1 + len(scenario.flows) / _FLOWS))
    assert Scenario.from_dict(scenario.to_dict()).hash == scenario.hash
    scenario.dump().encode()
    scenario.json().encode()
    [str(caution).encode() for caution in cautions.cautions(scenario)]
    if scenario.engine.kind == "ns3":
        ns3_check.check(scenario)
        ns3_plan.compile_plan(compile_network(scenario))
    else:
        kernel_plan.check(compile_network(scenario))
        kernel_plan.compile_plan(compile_network(scenario), here=False)


def fault(data: Any, text: bool, directory: Path) -> str | None:
    """Return the traceback that a scenario ends with; None if it has a plan, or is refused with a sentence."""
    try:
        compiled(data, text, directory)
    except InputError as error:
        str(error).encode()
        return None if str(error) and all(problem.field for problem in error.problems) else f"no words: {error!r}"
    except RdcnlabError as error:
        return None if str(error) else f"no words: {error!r}"
    except Exception:  # noqa: BLE001 - any other exception is what is looked for
        return traceback.format_exc()
    return None


class _TooLong(BaseException):
    """A mutation takes too long; the traceback shows where."""


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    raise _TooLong


def _work(asked: Sequence[int], seconds: float, directory: Path, answers: Connection) -> None:
    """Send for each fault its number, its traceback and the mutation; in the end the number of mutations."""
    begin = time.monotonic()
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + BYTES, size + BYTES))
    signal.signal(signal.SIGPROF, _too_long)
    count, seed, first = asked
    number = first
    for number, mutation in enumerate(mutations(count or None, seed)):
        if number < first:
            continue
        if time.monotonic() - begin > seconds:
            break
        kept = copy.deepcopy(mutation)
        answers.send((number, "", ""))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            said = fault(mutation, bool(number % 2), directory)
        except _TooLong:
            said = f"{traceback.format_exc()[-6000:]}\nmore than {SECONDS} s"
        signal.setitimer(signal.ITIMER_PROF, 0)
        if said is not None:
            answers.send((number, said, repr(kept)))
    answers.send((-number - 1, "", ""))


def search(seed: int, *, count: int = 0, seconds: float = 1e9) -> tuple[int, list[tuple[str, str]]]:
    """Mutate in a process of its own, which has little memory.

    Returns
    -------
    tuple of int and list of (str, str)
        The number of mutations, and each fault as its traceback and the mutation.
    """
    found: list[tuple[str, str]] = []
    begin, number = time.monotonic(), -1
    with tempfile.TemporaryDirectory() as directory:
        place(Path(directory))
        while True:
            here, there = multiprocessing.Pipe(duplex=False)
            left = seconds - (time.monotonic() - begin)
            process = multiprocessing.get_context("fork").Process(
                target=_work, args=((count, seed, number + 1), left, Path(directory), there)
            )
            process.start()
            there.close()
            ended = False
            with contextlib.suppress(EOFError):
                while here.poll(_WAITING):
                    number, said, mutation = here.recv()
                    if number < 0:
                        ended, number = True, -number - 1
                        break
                    if said:
                        found.append((said, mutation))
            if not ended:
                found.append((f"the process died, or waits, at {number}", f"seed {seed}, mutation {number}"))
            process.kill()
            process.join()
            if ended or time.monotonic() - begin > seconds:
                return number, found


def kind(said: str) -> str:
    """Return what faults of one kind have in common: the last line, and the place in the package."""
    places = [line.strip() for line in said.splitlines() if "rdcnlab/" in line and line.strip().startswith("File")]
    return f"{said.splitlines()[-1][:80]} | {places[-1].partition('rdcnlab/')[2] if places else ''}"


if __name__ == "__main__":
    for_s, first_seed = float(sys.argv[1]), int(sys.argv[2])
    began, made = time.monotonic(), 0
    kinds: set[str] = set()
    while time.monotonic() - began < for_s:
        some, faults = search(first_seed, seconds=min(60, for_s))
        made += some
        for said, mutation in faults:
            if kind(said) not in kinds:
                kinds.add(kind(said))
                print(f"== {kind(said)}\n{said[-2500:]}\n{mutation[:3000]}", flush=True)
        first_seed += 1000
        print(f"-- {made} mutations, {len(kinds)} kinds of fault", flush=True)
