# SPDX-License-Identifier: Apache-2.0
"""A process that has loaded the libraries of notebooks, and forks a kernel for each notebook.

It is a script and imports nothing of rdcnlab: a kernel loads rdcnlab itself, as any other kernel does. It starts no
thread of its own before a fork. It ends when the process that started it has ended.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import importlib
import json
import logging
import os
import signal
import socket
import sys
import warnings
from types import SimpleNamespace
from typing import Any

#: What notebooks load, slowest first. A library that is not installed is left out.
_LIBRARIES = (
    "pandas", "scipy.stats", "matplotlib.pyplot", "seaborn", "sklearn.pipeline", "pyarrow.parquet", "pyarrow.compute",
    "pydantic.main", "yaml", "ipykernel.kernelapp", "IPython.display", "matplotlib.backends.backend_agg",
    # what a kernel loads when it starts
    "ipykernel.debugger", "IPython.extensions.storemagic", "pdb", "sqlite3", "tornado.queues",
)  # fmt: skip
#: The backend that ipykernel selects, and matplotlib reads when it is loaded. The backend itself looks for its kernel
#: when it is loaded, so it is not.
_BACKEND = ("MPLBACKEND", "module://matplotlib_inline.backend_inline")


def main() -> None:
    """Load the libraries, serve orders from the socket of the given number, and be the kernel in each child."""
    # the directory of this script would hide libraries that are named as its neighbours
    del sys.path[0]
    os.environ.setdefault(*_BACKEND)
    # pandas decides when it is loaded how many columns it prints; it looks for a kernel in this way
    builtins.get_ipython = lambda: SimpleNamespace(kernel=None)  # type: ignore[attr-defined]
    for name in _LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    del builtins.get_ipython  # type: ignore[attr-defined]
    # a collection in a kernel would copy the memory that it shares with this process
    gc.collect()
    gc.freeze()
    server = os.getpid()
    order = _serve(socket.socket(fileno=int(sys.argv[1])))
    if order is not None:
        _be_kernel(order, server)


def _serve(connection: socket.socket) -> dict[str, Any] | None:
    """Fork for each order, and answer with the number of the process. Return the order in a child, otherwise None."""
    # the system removes children that have ended, as nobody here asks for their exit status
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with connection, connection.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            with warnings.catch_warnings():
                # Python warns because of the threads of OpenBLAS, which handles forks
                warnings.simplefilter("ignore", DeprecationWarning)
                number = os.fork()
            if number == 0:
                order: dict[str, Any] = json.loads(line)
                return order
            print(number, file=lines, flush=True)
    return None


def _be_kernel(order: dict[str, Any], server: int) -> None:
    """Do what a new process would do: a session, a directory and an environment of its own."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(order["directory"])
    os.environ.clear()
    # the kernel ends with the server, which ends with the process that started it; ipykernel has been loaded before it
    # could read the variable, so it is told the number
    os.environ.update({**order["environment"], "JPY_PARENT_PID": str(server)})
    import ipykernel_launcher
    from ipykernel import kernelapp

    # whoever executes a notebook interrupts its kernel before it ends it: that is no error
    logging.getLogger("IPKernelApp").addFilter(lambda record: "KeyboardInterrupt" not in record.getMessage())
    sys.argv = [ipykernel_launcher.__file__, *order["arguments"], f"--IPKernelApp.parent_handle={server}"]
    kernelapp.launch_new_instance()


if __name__ == "__main__":
    main()
