# SPDX-License-Identifier: Apache-2.0
"""`Drawing`, a figure that notebooks display by themselves. `rdcnlab.analysis.figures` makes them."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from rdcnlab.fields.errors import InputError, RunError

#: Name of the program in the metadata of a picture. By it a command recognises pictures that it may overwrite.
SOFTWARE = "rdcnlab"
#: Formats of pictures: the endings of file names.
FORMATS = ("png", "svg", "pdf", "pgf")
#: Least width in inches of a panel in a figure for a paper. In a narrower one, labels of ticks run into each other.
NARROWEST = 1.2
#: Programs that can measure the text of a PGF picture, the best first.
TEX = ("xelatex", "lualatex", "pdflatex")


class Drawing(Figure):
    """A figure that notebooks display by themselves, without pyplot and its list of open figures."""

    #: Whether it was drawn for a column of a paper, see `rdcnlab.analysis.figures.column`.
    for_column = False

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure. Marks at the end of an axis are not cut there."""
        for ax in (one for parent in self.axes for one in (parent, *parent.child_axes)):
            if isinstance(ax, Axes):
                _show_whole_marks(ax)
        super().draw(renderer)

    def _repr_png_(self) -> bytes:
        return self._image("png", None)

    def save(self, path: str | Path, *, cite: Sequence[str] | None = None) -> list[Path]:
        """Write the figure to a file, and what to cite to a file ``.bib`` beside it.

        Parameters
        ----------
        path : str or Path
            Its ending is the format: ``.png``, ``.svg``, ``.pdf`` (with embedded fonts) or ``.pgf`` (text is set by
            LaTeX; this needs LaTeX here, too).
        cite : sequence of str, optional
            Titles of papers; see `rdcnlab.analysis.publication.bibtex`. None writes no references.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        InputError
            There is no such format, or no such reference, or a column is too narrow for the panels.
        RunError
            There is no LaTeX, for ``.pgf``.

        Examples
        --------
        >>> import tempfile
        >>> from rdcnlab.analysis import figures
        >>> folder = Path(tempfile.mkdtemp())
        >>> with figures.column("single"), figures.single(7.4, 3.0) as (figure, ax):
        ...     _ = ax.plot([0, 1], [5, 7], label="CUBIC")
        >>> [path.name for path in figure.save(folder / "two.pdf", cite=[])]
        ['two.pdf', 'two.bib']
        """
        from rdcnlab.analysis.publication import write_references

        target = Path(path)
        kind = target.suffix.lower().removeprefix(".")
        if kind not in FORMATS:
            raise InputError.of("path", str(path), f"a file that ends in {', '.join(f'.{name}' for name in FORMATS)}")
        self._check_room()
        target.write_bytes(self.image(kind))
        return [target] if cite is None else [target, write_references(target, cite)]

    def _check_room(self) -> None:
        """Raise InputError if there are too many panels side by side for the column."""
        grids = [ax.get_gridspec() for ax in self.axes]
        count = max((grid.ncols for grid in grids if grid is not None), default=1)
        wide = float(self.get_size_inches()[0])
        if self.for_column and count > 1 and wide / count < NARROWEST:
            raise InputError.of(
                "column", wide, reason=f"{count} panels side by side need {count * NARROWEST:.2g} in, not {wide:g} in"
            )

    def image(self, kind: str) -> bytes:
        """Return the figure in a format of `FORMATS`. The bytes are the same each time."""
        return self._image(kind, SOFTWARE)

    def _image(self, kind: str, software: str | None) -> bytes:
        import matplotlib as mpl

        from rdcnlab.analysis.figures import style

        metadata: dict[str, dict[str, str | None]] = {
            "png": {"Software": software},
            "svg": {"Creator": software, "Date": None},
            "pdf": {"Creator": software, "Producer": None, "CreationDate": None},
        }
        buffer = io.BytesIO()
        with style(), mpl.rc_context(_tex() if kind == "pgf" else {}):
            # a picture in PGF takes no metadata
            options: dict[str, Any] = {"metadata": metadata[kind]} if kind in metadata else {}
            self.savefig(buffer, format=kind, **options)
        # other formats have metadata
        return f"%% {SOFTWARE}\n".encode() * (kind == "pgf") + buffer.getvalue()


def _show_whole_marks(ax: Axes) -> None:
    """Let marks reach beyond the ends of axes, unless a point is beyond them."""
    ends = np.sort([ax.get_xlim(), ax.get_ylim()])
    slack = 1e-6 * (ends[:, 1] - ends[:, 0])
    artists: list[tuple[Artist, Any]] = [
        (line, line.get_xydata())
        for line in ax.lines
        if line.get_marker() not in ("None", None, "", " ") and line.get_transform() == ax.transData
    ]
    artists += [(cloud, cloud.get_offsets()) for cloud in ax.collections if isinstance(cloud, PathCollection)]
    for artist, data in artists:
        points: Any = np.ma.filled(np.ma.asarray(data, dtype=float), np.nan)
        points = points[np.isfinite(points).all(axis=1)]
        if ((points >= ends[:, 0] - slack) & (points <= ends[:, 1] + slack)).all():
            artist.set_clip_on(False)
            artist.set_in_layout(False)


def _tex() -> dict[Any, Any]:
    """Return the settings for PGF: the document's own fonts, measured by the LaTeX that is here."""
    program = next((name for name in TEX if shutil.which(name)), None)
    if program is None:
        raise RunError(
            "a .pgf picture needs LaTeX, which is not installed: apt-get install texlive-latex-recommended "
            "texlive-pictures; a .pdf needs none"
        )
    return {"pgf.texsystem": program, "pgf.rcfonts": False}
