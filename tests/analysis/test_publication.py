# SPDX-License-Identifier: Apache-2.0
"""Figures and tables for papers have the width, the fonts and the references that a paper needs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rdcnlab.analysis import figures, publication
from rdcnlab.fields.errors import InputError, RunError


def drawn(width: float = 7.4, height: float = 3.0) -> Any:
    with figures.single(width, height) as (figure, ax):
        ax.plot([0, 1], [5, 7], label="CUBIC")
        ax.set_ylabel("goodput [Gb/s]")
        return figure


@pytest.mark.parametrize(("width", "inches"), [("single", 3.5), ("double", 7.16), (3.33, 3.33)])
def test_a_figure_has_the_width_of_the_column_and_small_text(width: str | float, inches: float) -> None:
    with figures.column(width):
        figure = drawn()
        wide, high = figure.get_size_inches()
        assert wide == pytest.approx(inches)
        # it is higher in proportion, because text does not shrink
        assert high / wide >= 3.0 / 7.4
        (ax,) = figure.axes
        assert 7 <= ax.yaxis.label.get_size() <= 8
    assert drawn().get_size_inches().tolist() == [7.4, 3.0]


def test_too_many_panels_for_a_column_are_refused(tmp_path: Path) -> None:
    with figures.style(), figures.column("single"):
        many, _ = figures.panels(1, 5)
        with pytest.raises(InputError, match=r"5 panels side by side need 6 in, not 3\.5 in"):
            many.save(tmp_path / "many.pdf")
        few, _ = figures.panels(2, 2)
        few.save(tmp_path / "few.pdf")
    wide, _ = figures.panels(1, 5, width=1.0)
    wide.save(tmp_path / "wide.pdf")


def test_a_wrong_width_is_refused() -> None:
    for wrong in ("triple", 0.2, 300):
        with pytest.raises(InputError, match="single, double"), figures.column(wrong):
            pass


def test_fonts_are_embedded_and_bytes_repeat(tmp_path: Path) -> None:
    (first,) = drawn().save(tmp_path / "a.pdf")
    content = first.read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content
    assert drawn().image("pdf") == content
    with pytest.raises(InputError, match=r"\.png, \.svg, \.pdf, \.pgf"):
        drawn().save(tmp_path / "a.gif")


def test_every_paper_has_its_reference() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers import papers
    from rdcnlab_papers.items import claims

    keys = set()
    for name in papers():
        _, entry = re.findall(r"@(\w+)\{(\w+),", publication.bibtex([claims.paper(name).title]))
        assert entry[0] in ("article", "inproceedings")
        keys.add(entry[1])
    assert len(keys) == len(papers())
    with pytest.raises(InputError, match="title"):
        publication.bibtex(["How to Knit"])


def test_a_table_for_latex_escapes_text_and_keeps_numbers() -> None:
    table = pd.DataFrame({"a_b": ["50 % & more"], "n": [3], "x": [float("nan")]}, index=pd.Index(["q_1"], name="claim"))
    text = publication.to_latex(table, caption="Runs.", label="tab:runs")
    assert r"q\_1 & 50 \% \& more & 3 & -- \\" in text
    assert r"claim & a\_b & n & x \\" in text
    assert r"\caption{Runs.}" in text
    assert r"\begin{tabular}{llrr}" in text


def test_a_table_for_latex_is_what_pandas_writes() -> None:
    pytest.importorskip("jinja2", reason="pandas writes LaTeX with Jinja2")
    table = pd.DataFrame({"a_b": ["50 % & #1 {x} $y$", "no"], "n": [3, -4], "x": [3.47123, 1e-9]})
    style = (
        table.style.hide(axis="index")
        .format({"x": "{:.4g}".format}, escape="latex")
        .format_index(escape="latex", axis=1)
    )
    for caption, label in ((None, None), ("Runs.", "tab:runs"), ("Runs.", None)):
        floats = {} if caption is None else {"position_float": "centering"}
        wanted = style.to_latex(column_format="lrr", hrules=True, caption=caption, label=label, **floats)
        assert publication.to_latex(table, caption=caption, label=label) == wanted


def test_a_table_without_rows_and_with_every_sign() -> None:
    text = publication.to_latex(pd.DataFrame({r"a\b~^": []}))
    assert text.splitlines()[2] == r"a\textbackslash{}b\textasciitilde{}\textasciicircum{} \\"
    assert len(text.splitlines()) == 6


def test_without_latex_a_pgf_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RunError, match="texlive"):
        drawn().save(tmp_path / "a.pgf")
    assert not (tmp_path / "a.pgf").exists()


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs LaTeX (on Debian: texlive-pictures)")
def test_latex_sets_a_document_with_figure_table_and_reference(tmp_path: Path) -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.items import claims

    with figures.column("single"):
        drawn().save(tmp_path / "a.pgf", cite=[claims.paper("tdtcp").title])
    (tmp_path / "t.tex").write_text(publication.to_latex(pd.DataFrame({"flow_1": ["main"], "x": [3.47123]})))
    (tmp_path / "p.tex").write_text(
        r"\documentclass{article}\usepackage{pgf,booktabs}\begin{document}\cite{rdcnlab,chen2022}"
        r"\input{a.pgf}\input{t.tex}\bibliographystyle{plain}\bibliography{a}\end{document}"
    )
    for command in ("pdflatex", "bibtex", "pdflatex"):
        arguments = ["-interaction=nonstopmode", "-halt-on-error"] if command == "pdflatex" else []
        done = subprocess.run([command, *arguments, "p"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    assert (tmp_path / "p.pdf").read_bytes().startswith(b"%PDF")
    assert "Time-division" in (tmp_path / "p.bbl").read_text()
