# SPDX-License-Identifier: Apache-2.0
"""`Drawing`, a figure that notebooks display by themselves. `rdcnlab.analysis.figures` makes them."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

#: Name of the program in the metadata of a picture. By it a command recognises pictures that it may overwrite.
SOFTWARE = "rdcnlab"


class Drawing(Figure):
    """A figure that notebooks display by themselves, without pyplot and its list of open figures."""

    def _repr_png_(self) -> bytes:
        return self._image("png", None)

    def image(self, kind: str) -> bytes:
        """Return the figure in the format `kind`: ``png``, ``svg`` or ``pdf``. The bytes are the same each time.

        Fonts are embedded in a PDF as outlines that can be edited and searched (TrueType).
        """
        return self._image(kind, SOFTWARE)

    def _image(self, kind: str, software: str | None) -> bytes:
        from rdcnlab.analysis.figures import style

        metadata: dict[str, dict[str, str | None]] = {
            "png": {"Software": software},
            "svg": {"Creator": software, "Date": None},
            "pdf": {"Creator": software, "Producer": None, "CreationDate": None},
        }
        buffer = io.BytesIO()
        with style():
            self.savefig(buffer, format=kind, metadata=metadata[kind])
        return buffer.getvalue()
