# SPDX-License-Identifier: Apache-2.0
"""``docs/older-kernels.md``, made from the table of older kernels' differences."""

from __future__ import annotations

import textwrap
from pathlib import Path

from rdcnlab.scenario import older
from rdcnlab.system import places

_HEAD = """\
# Older kernels

<!-- made by tools/older-kernels from lib/rdcnlab/scenario/older.yaml -->

The papers' hosts ran Linux 4.15 and older; runs here are of Linux 6.12. `transport: {like: "4.15"}` restores those of
the known differences that can be restored: by sysctls of Linux 6.12, and by those that patches 0039 to 0044 and
0054 to 0055 add, which
are off by default and described in the patches' `ip-sysctl.rst`. Each setting is a field of `Transport` and can be
given by itself. A setting that a scenario gives replaces the older kernel's, which replaces that of the network's
preset.

```python
late = scenario.with_(**{"transport.like": "4.15"})
timers_only = scenario.with_(**{"transport.loss_timers": 1})
all_but_timers = scenario.with_(**{"transport.like": "4.15", "transport.loss_timers": 0})
```

The sources that were compared are those of 4.15.0, 4.9.0 and 4.4.155, without the changes of distributions. Stable
releases got some corrections later, so a testbed's kernel of the same name may lie between the columns.

The patches restore behaviour, not code: they make Linux 6.12 decide as the older function did. The tests in
`kernel-patches/tests/like` compare each setting with its default. HZ is that of `engine.hz`. These kernels had no MPTCP
and no time-division TCP; subflows and networks follow the settings where they use the same code, except that
time-division TCP always uses RACK alone.
"""


def document() -> str:
    """Return the text of ``docs/older-kernels.md``."""
    parts = [_HEAD, "## What each kernel sets\n", _table(), "## What is restored\n"]
    for difference in older.differences():
        fields = sorted({field for values in difference.settings.values() for field in values})
        parts.append(_entry(difference, f"Set by: {', '.join(f'`{field}`' for field in fields)}."))
    parts.append("## What only its own setting restores\n")
    parts.append(
        "`like` does not set these fields: shipped runs that are like 4.9 and 4.4 are older than they are, and the\n"
        "hash of a scenario says what its run did. They matter where segments are counted, with `loss_detection`\n"
        "1 or 2.\n"
    )
    for difference in older.separate_differences():
        values = ", ".join(
            f"`{field}: {value}` for {kernel}"
            for kernel, fields in difference.settings.items()
            for field, value in fields.items()
        )
        parts.append(_entry(difference, f"Set by: {values}."))
    parts.append("## What is known to differ and stays as in 6.12\n")
    parts += [
        _entry(difference, f"Kernels: {', '.join(difference.kernels)}.")
        for difference in older.unrestored_differences()
    ]
    missing = [
        f"- {kernel}: `{cc}`, because {reason}"
        for kernel in older.KERNELS
        for cc, reason in older.lacking(kernel).items()
    ]
    parts += ["## Congestion controls that a kernel does not have\n", "\n".join(missing) + "\n"]
    return "\n".join(parts)


def _table() -> str:
    fields = sorted({field for kernel in older.KERNELS for field in older.settings(kernel)})
    rows = ["| field | " + " | ".join(older.KERNELS) + " |", "|---" * (1 + len(older.KERNELS)) + "|"]
    for field in fields:
        values = (older.settings(kernel).get(field, "-") for kernel in older.KERNELS)
        cells = (", ".join(value) if isinstance(value, list) else str(value) for value in values)
        rows.append(f"| `{field}` | " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def _entry(difference: older.Difference, settings: str) -> str:
    texts = [difference.what, settings, f"Source: {difference.source}."]
    if difference.changed:
        texts.append(f"Changed by: {difference.changed}.")
    lines = textwrap.wrap(" ".join(" ".join(texts).split()), 120, break_long_words=False, break_on_hyphens=False)
    return f"### {difference.name}\n\n" + "\n".join(lines) + "\n"


def path() -> Path:
    """Return the path of the document."""
    return places.tree() / "docs" / "older-kernels.md"


if __name__ == "__main__":
    path().write_text(document(), encoding="utf-8")
