# SPDX-License-Identifier: Apache-2.0
"""What papermill puts into a notebook, wherever it is started: unknown parameters, lists as text, the profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab_papers import aykurt
from rdcnlab_papers.items import injected

_CELLS = ["", "from rdcnlab_papers import aykurt", 'profile = "stored"\nseeds = None\ncolumn = "6.12"\ncc = ["cubic"]']


@pytest.mark.parametrize(
    "given", ["", '# Parameters\ncolumn = "4.15"\n', "# Parameters\n", "# Parameters of mine: x == 1"]
)
def test_known_parameters_and_cells_of_other_kinds_are_nothing_to_refuse(given: str) -> None:
    injected.check([*_CELLS, given, "item = 1"])


def test_an_unknown_parameter_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"'colum'\. Did you mean 'column'"):
        injected.check([*_CELLS, '# Parameters\ncolum = "4.15"\n', "item = 1"])


def test_a_cell_that_a_reader_wrote_is_not_papermills() -> None:
    injected.check(["", "import math", "# Parameters\nmine = 1", "mine"])


def test_a_list_as_text_is_explained() -> None:
    with pytest.raises(InputError, match=r"must be a list \(with papermill: -y 'periods_ms: \[50\]'\)"):
        aykurt.fig4(periods_ms="[50]")


def test_each_possible_profile_is_named() -> None:
    with pytest.raises(InputError, match="Possible: quick, paper, stored"):
        aykurt.fig4(profile="full")


@pytest.mark.slow
def test_papermill_itself_ends_before_a_run(tmp_path: Path) -> None:
    papermill = pytest.importorskip("papermill")
    from rdcnlab_papers.app import notebooks

    with pytest.raises(papermill.PapermillExecutionError, match="there is no parameter of this notebook 'colum'"):
        papermill.execute_notebook(
            notebooks.path(aykurt.fig4), tmp_path / "out.ipynb", parameters={"colum": "cards"}, progress_bar=False
        )
