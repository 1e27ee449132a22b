# SPDX-License-Identifier: Apache-2.0
"""`Drawing`, a figure that notebooks display by themselves. `rdcnlab.analysis.figures` makes them."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Drawing(Figure):
    """A figure that notebooks display by themselves, without pyplot and its list of open figures."""

    def _repr_png_(self) -> bytes:
        from rdcnlab.analysis.figures import style

        buffer = io.BytesIO()
        with style():
            self.savefig(buffer, format="png", metadata={"Software": None})
        return buffer.getvalue()
