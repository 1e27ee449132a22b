# SPDX-License-Identifier: Apache-2.0
"""Figures and tables for papers: widths of columns, LaTeX, and the references to cite.

`rdcnlab.analysis.figures.column` sets the width. A figure's method `save` writes it, and a file ``.bib`` beside it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.system import entry_points, places

if TYPE_CHECKING:
    import pandas as pd

#: What LaTeX reads as commands, and how to write it as text.
_COMMANDS = {letter: rf"\{letter}" for letter in "&%$#_{}"}
_COMMANDS |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
#: Entry types of BibTeX by types of the Citation File Format. Classic BibTeX has no type for software.
_TYPES = {"article": "article", "conference-paper": "inproceedings", "software": "misc"}


def to_latex(table: pd.DataFrame, *, caption: str | None = None, label: str | None = None, digits: int = 4) -> str:
    r"""Return a table for LaTeX, with the rules of the package ``booktabs``.

    Parameters
    ----------
    table : DataFrame
        Its index is left out unless it has a name. Special characters of LaTeX are escaped, in headings too.
    caption, label : str, optional
        With either, the table floats. The caption is LaTeX.
    digits : int
        Significant digits of numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> print(to_latex(pd.DataFrame({"flow": ["main"], "line_busy": ["97 %"], "fct_s": [3.47123]})))
    \begin{tabular}{llr}
    \toprule
    flow & line\_busy & fct\_s \\
    \midrule
    main & 97 \% & 3.471 \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    # by hand, because the writer of pandas needs Jinja2, which is a library of the papers
    rows = table.reset_index() if table.index.name is not None else table
    numeric = [name for name in rows.columns if rows[name].dtype.kind in "iuf"]
    cells = [
        ["--" if absent else _cell(value, digits) for value, absent in zip(*both, strict=True)]
        for both in zip(rows.itertuples(index=False, name=None), rows.isna().to_numpy(), strict=True)
    ]
    layout = "".join("r" if name in numeric else "l" for name in rows.columns)
    lines = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule", _row(map(_escaped, map(str, rows.columns))), r"\midrule"]
    lines += [*map(_row, cells), r"\bottomrule", r"\end{tabular}"]
    if caption is not None or label is not None:
        above = [r"\begin{table}", r"\centering"]
        above += [] if caption is None else [rf"\caption{{{caption}}}"]
        above += [] if label is None else [rf"\label{{{label}}}"]
        lines = [*above, *lines, r"\end{table}"]
    return "\n".join(lines) + "\n"


def _cell(value: Any, digits: int) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else _escaped(str(value))


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    """Return a text in which LaTeX reads no command."""
    return "".join(_COMMANDS.get(letter, letter) for letter in text)


def bibtex(titles: Iterable[str] = ()) -> str:
    """Return the references of rdcnlab and of papers, from ``CITATION.cff``, as BibTeX.

    Parameters
    ----------
    titles : iterable of str
        Titles of papers; rdcnlab itself comes first in any case.

    Raises
    ------
    InputError
        No reference has this title.

    Examples
    --------
    >>> text = bibtex(["Time-division TCP for Reconfigurable Data Center Networks"])
    >>> [line for line in text.splitlines() if line.startswith("@")]
    ['@misc{rdcnlab,', '@inproceedings{chen2022,']
    """
    software, _ = _citations()
    chosen = [reference(title) for title in titles]
    return "\n".join([_entry("rdcnlab", software), *(_entry(_key(one), one) for one in chosen)])


def reference(title: str) -> Mapping[str, Any]:
    """Return the entry of a paper in a ``CITATION.cff``; raise InputError if no reference has this title."""
    _, references = _citations()
    known = {_plain(one["title"]): one for one in references}
    if _plain(title) not in known:
        raise InputError.unknown("title", title, [one["title"] for one in references], "reference")
    return known[_plain(title)]


@functools.cache
def _citations() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    own, *others = [_read(path) for path in (places.citation(), *_of_papers())]
    return own, [one for data in (own, *others) for one in data.get("references", [])]


def _of_papers() -> Iterator[Path]:
    """Yield the file in each package that an entry point names as a paper."""
    for point in entry_points.points("rdcnlab.papers").values():
        package = entry_points.directory(point.module)
        if package is not None and (package / "CITATION.cff").is_file():
            yield package / "CITATION.cff"


def _read(path: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror}): it has the references") from None
    return data


def _plain(title: str) -> str:
    """Return a title without punctuation and case: sources differ in both."""
    return "".join(letter for letter in title.lower() if letter.isalnum())


def _key(reference: Mapping[str, Any]) -> str:
    family = str(reference["authors"][0]["family-names"]).split()[-1].lower()
    return f"{family}{reference.get('year', '')}"


def _entry(key: str, reference: Mapping[str, Any]) -> str:
    names = [_author(author) for author in reference["authors"]]
    fields = {
        # braces keep capitals, and a name of one part as it is
        "author": " and ".join(names),
        "title": f"{{{reference['title']}}}",
        "booktitle": dict(reference.get("conference", {})).get("name"),
        "journal": reference.get("journal"),
        "year": reference.get("year"),
        "doi": reference.get("doi"),
        "url": reference.get("url"),
        "note": f"version {reference['version']}" if "version" in reference else None,
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value is not None]
    return "\n".join([f"@{_TYPES.get(str(reference.get('type')), 'misc')}{{{key},", *lines, "}"]) + "\n"


def _author(author: Mapping[str, Any]) -> str:
    if "family-names" not in author:
        return f"{{{author['name']}}}"
    return f"{author['family-names']}, {author['given-names']}"


def write_references(figure: Path, titles: Sequence[str]) -> Path:
    """Write the references of a figure beside its file, with the ending ``.bib``, and return the path."""
    path = figure.with_suffix(".bib")
    path.write_text(bibtex(titles), encoding="utf-8")
    return path
