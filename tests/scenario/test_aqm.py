# SPDX-License-Identifier: Apache-2.0
"""Options of queueing disciplines are checked when a scenario is read, not by ``tc`` in a booted guest."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.aqm import OPTIONS


def tc(aqm: Any) -> str:
    """Return the words of a discipline as ``tc`` gets them."""
    network = {
        "name": "n", "switches": [{"name": "a"}, {"name": "b"}],
        "hosts": [{"name": "s", "at": "a", "rate": "1 Gb/s"}, {"name": "r", "at": "b", "rate": "1 Gb/s"}],
        "links": [{"name": "l", "between": ["a", "b"], "rate": "1 Gb/s", "aqm": aqm}],
    }  # fmt: skip
    flow = {"name": "f", "src": "s", "dst": "r", "size": "1 MB"}
    made = Scenario.from_dict({"network": network, "flows": [flow]}).network.links[0].aqm
    assert made is not None
    return made.tc


@pytest.mark.parametrize(
    ("aqm", "words"),
    [
        ("fq_codel", "fq_codel"),
        ({"kind": "fq_codel", "target": "5 ms", "ecn": False}, "fq_codel target 5ms noecn"),
        ({"kind": "pie", "dq_rate_estimator": False}, "pie no_dq_rate_estimator"),
        ({"kind": "cake", "split-gso": False, "dual-srchost": True}, "cake no-split-gso dual-srchost"),
        # red has no word for the opposite of ecn, which is its default
        ({"kind": "red", "limit": 100_000, "avpkt": 1000, "ecn": False}, "red limit 100000 avpkt 1000"),
        ({"kind": "ets", "bands": 3, "quanta": [1000, 2000, 3000]}, "ets bands 3 quanta 1000 2000 3000"),
    ],
)
def test_options_are_written_as_tc_reads_them(aqm: Any, words: str) -> None:
    assert tc(aqm) == words


@pytest.mark.parametrize(
    ("aqm", "said"),
    [
        ({"taget": "5ms"}, "aqm.taget: there is no option of fq_codel 'taget'. Did you mean 'target'?"),
        ({"taget": False}, "aqm.taget: there is no option of fq_codel 'taget'. Did you mean 'target'?"),
        ({"ecn": 5}, "aqm.ecn: '5' is not possible; it must be true or false"),
        ({"limit": True}, "aqm.limit: true is not possible; it must be a value"),
        ({"options": [{"name": "limt", "value": "3"}]}, "Did you mean 'limit'?"),
        ({"kind": "red", "limit": 1000}, "aqm.avpkt: red has no default for it; it needs limit and avpkt"),
        ({"kind": "fq_kodel"}, "Did you mean 'fq_codel'?"),
    ],
)
def test_a_wrong_option_is_refused_with_the_nearest_name(aqm: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        tc({"kind": "fq_codel", **aqm})
    assert said in str(caught.value)


@pytest.mark.skipif(shutil.which("tc") is None, reason="needs tc (on Debian: apt-get install iproute2)")
@pytest.mark.parametrize("kind", OPTIONS)
def test_options_are_those_that_tc_lists(kind: str) -> None:
    done = subprocess.run(
        ["tc", "qdisc", "add", "dev", "lo", "root", kind, "help"], capture_output=True, text=True, check=False
    )
    usage = done.stdout + done.stderr
    known = OPTIONS[kind]
    # `[no]ecn` is two words; what begins with a capital or a digit is a value
    usage = re.sub(r"\[(no_?)\](\w+)", r"\2 \1\2", usage).replace("horizon_{cap|drop}", "horizon_cap horizon_drop")
    listed = set(re.findall(r"(?<![\w<-])[a-z][a-z0-9_-]+", usage.partition("Usage: ...")[2]))
    # words that are values of netem's options
    listed -= {
        *["bytes", "custom", "gemodel", "normal", "packets", "pareto", "paretonormal", "random", "state", "uniform"]
    }
    listed -= {
        kind,
        "bfifo",
        "pfifo_head_drop",
        "fifo",
        "defaults",
        "marks",
        "qevent",
        "early_drop",
        "block",
        "mark",
        "multiqueue",
    }
    assert listed <= {*known.valued, *known.flags}
