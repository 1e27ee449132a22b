# SPDX-License-Identifier: Apache-2.0
"""Kernels that are forks: they look like Jupyter's own to a notebook, and end with the process that wanted them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.app import notebook_file
from rdcnlab.fields.errors import RunError
from rdcnlab_papers.app import notebooks
from tests.conftest import alive

#: Seconds in which processes end.
_ENDS_S = 60
#: What a kernel may not share with the process that it is a copy of, and what libraries find out when they are loaded.
_LOOKS = """
import os, signal, sys, matplotlib, pandas
print([
    os.getsid(0) == os.getpid(), os.environ["RDCNLAB_OF_TEST"], os.getcwd(), sys.path[0], sys.argv[0].split("/")[-1],
    str(signal.getsignal(signal.SIGCHLD)), pandas.options.display.max_columns, matplotlib.get_backend(),
    "get_ipython" in dir(__builtins__), "rdcnlab" in sys.modules, __name__,
])
"""


def _notebook(folder: Path, *cells: str) -> Path:
    path = folder / "book.ipynb"
    book = notebook_file.book([notebook_file.code_cell(f"c{index}", source) for index, source in enumerate(cells)])
    notebook_file.write(book, path)
    return path


def _executed(folder: Path, *cells: str) -> list[Any]:
    """Return the outputs of all cells."""
    source = _notebook(folder, *cells)
    executed = notebooks.execute(source, folder / "executed" / "book.ipynb", {})
    return [output for cell in executed["cells"] for output in cell.get("outputs", [])]


def _ended(pids: list[int]) -> bool:
    end = time.monotonic() + _ENDS_S
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    return not any(map(alive, pids))


def test_a_fork_looks_like_a_kernel_of_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import papermill as pm

    monkeypatch.setenv("RDCNLAB_OF_TEST", "first")
    (forked,) = _executed(tmp_path, _LOOKS)
    own = pm.execute_notebook(
        tmp_path / "book.ipynb", tmp_path / "own.ipynb", kernel_name="python3", progress_bar=False
    )
    assert forked["text"] == own["cells"][0]["outputs"][0]["text"]
    # the environment is that of the moment, not that of the first notebook
    monkeypatch.setenv("RDCNLAB_OF_TEST", "second")
    assert "'second'" in _executed(tmp_path, _LOOKS)[0]["text"]


def test_a_changed_path_of_python_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _executed(tmp_path, "1")
    (tmp_path / "only_here.py").write_text("answer = 42")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir("/")
    (output,) = _executed(tmp_path, "import os, only_here\nprint(only_here.answer, os.getppid())")
    answer, server = map(int, output["text"].split())
    # a fork again, of a Python that was started with this path
    assert answer == 42
    assert server != os.getpid()


def test_figures_are_shown(tmp_path: Path) -> None:
    outputs = _executed(tmp_path, "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])")
    assert [sorted(output["data"]) for output in outputs] == [["image/png", "text/plain"]]


def test_a_kernel_that_ends_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="its kernel has ended"):
        _executed(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")


def test_without_the_server_the_next_notebook_works(tmp_path: Path) -> None:
    (output,) = _executed(tmp_path, "import os\nprint(os.getppid())")
    server = int(output["text"])
    assert server != os.getpid()
    os.kill(server, signal.SIGKILL)
    (output,) = _executed(tmp_path, "print(6 * 7)")
    assert output["text"] == "42\n"


def test_kernel_and_server_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    source = _notebook(
        tmp_path, "import os, time\nopen('pids', 'w').write(f'[{os.getpid()}, {os.getppid()}]')\ntime.sleep(600)"
    )
    command = (
        "import sys; from pathlib import Path; from rdcnlab_papers.app import notebooks;"
        "notebooks.execute(Path(sys.argv[1]), Path(sys.argv[1]).with_name('executed.ipynb'), {})"
    )
    process = subprocess.Popen([sys.executable, "-c", command, str(source)], cwd=tmp_path)
    written = tmp_path / "pids"
    end = time.monotonic() + 2 * _ENDS_S
    while not (written.exists() and written.read_text()) and time.monotonic() < end:
        time.sleep(0.1)
    pids = json.loads(written.read_text())
    assert all(map(alive, pids))
    process.kill()
    process.wait()
    assert _ended(pids)
