# SPDX-License-Identifier: Apache-2.0
"""How verdicts, measurements and causes look: as HTML in notebooks and on the site, and as text in a terminal.

A verdict has a sign beside its colour, for readers who see few colours. As HTML it is dark text on a light ground of
its own, which can be read on a light and on a dark page.
"""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from rdcnlab_papers.items.judged import JudgedCase
from rdcnlab_papers.items.verdicts import Verdict

#: Number of cases up to which all are shown at once.
_FEW_CASES = 8
#: Length of a text, in letters, from which all but its first sentence is folded.
_LONG = 220
#: Widest text in a terminal, in letters.
_WIDEST = 110


@dataclass(frozen=True)
class Face:
    """The sign of a verdict, its colours as HTML (text and ground), its colour in a terminal, and what it means."""

    sign: str
    ink: str
    ground: str
    terminal: str
    meaning: str


FACES: dict[str, Face] = {
    Verdict.REPRODUCED: Face(
        "✓", "#00452f", "#c6ecdc", "green", "the statement holds for every number of the 95 % interval"
    ),
    Verdict.PARTLY: Face(
        "◐", "#553900", "#fbe3ad", "yellow", "only its direction holds: there is an effect on the side that is stated"
    ),
    Verdict.UNDECIDED: Face(
        "?", "#26394d", "#d6e2ee", "cyan",
        "the interval, or one half of the runs, allows another verdict; more runs are needed",
    ),
    Verdict.DIFFERS: Face("✗", "#762600", "#ffd5c2", "red", "neither the statement nor its direction holds"),
    Verdict.NOT_RUN: Face("○", "#414141", "#e2e2e2", "white", "the runs that it needs are not stored"),
}  # fmt: skip
#: What is said below the meaning of the verdicts.
RULES = (
    "A statement about several cases has the verdict of its worst case. Statements that follow from the emulator's "
    "settings, or that our inputs decide, are marked and not counted. docs/verdicts.md has the rules."
)

_STYLE = """
.rlc { max-width: 62rem; line-height: 1.45; text-align: left; white-space: normal }
.rlc p { margin: 0.3em 0 0.6em }
.rlc-row { display: grid; grid-template-columns: 9.5rem 1fr; gap: 0.2em 1em; padding: 0.55em 0;
  border-top: 1px solid rgba(128, 128, 128, 0.4) }
.rlc-badge { display: inline-block; padding: 0 0.55em; border-radius: 0.8em; font-weight: 600; white-space: nowrap;
  font-size: 0.92em; line-height: 1.6 }
.rlc-small { font-size: 0.92em }
.rlc-sign { display: inline-block; width: 1.5em; margin-right: 0.2em; line-height: 1.2;
  border-radius: 0.25em; text-align: center }
.rlc-cases { font-variant-numeric: tabular-nums }
.rlc details { margin: 0.15em 0 }
.rlc summary { cursor: pointer }
.rlc ul { margin: 0.2em 0; padding-left: 1.2em }
ul.rlc-cases, .rlc ul.rlc-cases { margin: 0; padding: 0; list-style: none }
@media (max-width: 640px) { .rlc-row { grid-template-columns: 1fr } }
"""


def css_class(verdict: str) -> str:
    """Return the name of a verdict as a CSS class."""
    return verdict.replace(" ", "-")


def style() -> str:
    """Return the style sheet of all faces."""
    badges = "\n".join(
        f".rlc-{css_class(verdict)} {{ color: {face.ink}; background: {face.ground} }}"
        for verdict, face in FACES.items()
    )
    return f"{_STYLE.strip()}\n{badges}\n"


def badge(verdict: str, words: str = "") -> str:
    """Return a verdict as HTML: its sign and its name, or other words, on a ground of its colour.

    Examples
    --------
    >>> badge("partly")
    '<span class="rlc-badge rlc-partly">◐ partly</span>'
    """
    face = FACES[verdict]
    return f'<span class="rlc-badge rlc-{css_class(verdict)}">{face.sign} {escape(words or verdict)}</span>'


def card(head: str, parts: Iterable[str], *, legend: bool = False) -> str:
    """Return a card as HTML: a line about it, its parts, and folded what the verdicts mean."""
    below = f"<details><summary>What the verdicts mean</summary>{_legend()}</details>" if legend else ""
    return f'<div class="rlc"><style>{style()}</style><p>{escape(head)}</p>{"".join(parts)}{below}</div>'


def row(left: str, right: str) -> str:
    """Return a row of a card: verdicts on the left, words on the right, both as HTML."""
    return f'<div class="rlc-row"><div>{left}</div><div>{right}</div></div>'


def measured(cases: Sequence[JudgedCase], note: str) -> str:
    """Return a measurement as HTML: one line for each case with its verdict's sign; many cases are folded."""
    lines = "".join(f"<li>{_case(case)}</li>" for case in cases)
    words = f'<ul class="rlc-cases">{lines}</ul>' if cases else ""
    if len(cases) > _FEW_CASES:
        counts = Counter(case.verdict for case in cases)
        listed = ", ".join(f"{count} {verdict}".strip() for verdict, count in counts.items())
        words = f"<details><summary>{len(cases)} cases: {escape(listed)}</summary>{words}</details>"
    return words + (f'<div class="rlc-small">{folded(note)}</div>' if note else "")


def _case(case: JudgedCase) -> str:
    sign = ""
    if case.verdict:
        face = FACES[case.verdict]
        ground = f'class="rlc-sign rlc-{css_class(case.verdict)}"'
        sign = f'<span {ground} title="{escape(case.verdict)}">{face.sign}</span> '
    name = f"{escape(case.case)}: " if case.case else ""
    return f"{sign}{name}{escape(case.measured)}"


def folded(text: str) -> str:
    """Return a text as HTML; of a long one only the first sentence is shown until a reader unfolds it."""
    if len(text) <= _LONG:
        return escape(text)
    first, rest = split(text)
    return f"<details><summary>{escape(first)}</summary>{escape(rest)}</details>"


def split(text: str) -> tuple[str, str]:
    """Return the beginning of a text, up to the end of a sentence or of a part of one, and the rest.

    A text without sentences, such as a list of numbers, ends at a semicolon rather than at a comma or a colon.

    Examples
    --------
    >>> split("One sentence that is long enough to stand alone, with more. And another one.")
    ('One sentence that is long enough to stand alone, with more.', 'And another one.')
    """
    ends = [match.end() for match in re.finditer(r"[.;:,](?= )", text) if 40 <= match.end() <= _LONG]
    sentences = [end for end in ends if text[end - 1] == "."]
    parts = [end for end in ends if text[end - 1] == ";"]
    space = text.rfind(" ", 0, _LONG)
    end = (sentences or parts[-1:] or ends[-1:] or [space if space > 0 else len(text)])[0]
    return text[:end], text[end:].strip()


def _legend() -> str:
    rows = "".join(f"<li>{badge(verdict)} {escape(face.meaning)}</li>" for verdict, face in FACES.items())
    return f'<ul class="rlc-cases">{rows}</ul><p class="rlc-small">{escape(RULES)}</p>'


def signed(verdict: str) -> Text:
    """Return a verdict for a terminal: its sign and its name in its colour."""
    face = FACES[verdict]
    return Text(f"{face.sign} {verdict}", style=f"bold {face.terminal}")


def terminal_legend(verdicts: Iterable[str]) -> RenderableType:
    """Return what some verdicts mean, for a terminal."""
    wanted = set(verdicts)
    shown = [verdict for verdict in FACES if verdict in wanted]
    lines = [Text.assemble(signed(verdict), f"  {FACES[verdict].meaning}") for verdict in shown]
    return Group(*lines, Text(RULES))


def terminal_cases(cases: Sequence[JudgedCase], note: str, first: str) -> RenderableType:
    """Return a measurement for a terminal: one line for each case with its verdict's sign; `first` is before them."""
    lines: list[Text] = []
    for case in cases:
        sign = Text("")
        if case.verdict:
            face = FACES[case.verdict]
            sign = Text(f"{face.sign} ", style=face.terminal)
        name = f"{case.case}: " if case.case else ""
        lines.append(Text.assemble(sign, f"{name}{case.measured}"))
    if note:
        lines.append(Text(note))
    return labelled(first, Group(*lines))


def labelled(label: str, renderable: RenderableType) -> RenderableType:
    """Return something for a terminal with a label on its left; lines that are too long go on beside the label."""
    grid = Table.grid(Column(no_wrap=True), Column(overflow="fold"))
    grid.add_row(Text(label), renderable)
    return grid


def indented(renderable: RenderableType, by: int = 2) -> Padding:
    """Return something for a terminal, moved to the right by some letters."""
    return Padding(renderable, (0, 0, 0, by), expand=False)


def plain(renderable: RenderableType) -> str:
    """Return what a terminal shows; with colours only if the output is a terminal."""
    here = _console()
    buffer = io.StringIO()
    coloured = here.is_terminal and sys.stdout.isatty()
    _console(file=buffer, width=min(here.width, _WIDEST), force_terminal=coloured).print(renderable)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def write(renderable: RenderableType) -> None:
    """Print something on a terminal, or as plain text into a file or a pipe."""
    console = _console()
    width = min(console.width, _WIDEST) if console.is_terminal else _WIDEST
    _console(width=width).print(renderable)


def _console(**options: Any) -> Console:
    """Return a console that writes text also in a notebook, where Rich would display a result of its own."""
    return Console(force_jupyter=False, highlight=False, **options)
