# SPDX-License-Identifier: Apache-2.0
"""The process of the OpenFlow controller: os-ken with one application.

``ovs_process.py`` starts it as ``sdn_process.py PLAN``. It prints one line when every switch is ready, and one line
with its records when its input says ``stop``. If the application raises, or a switch refuses a message, it prints the
reason to its log and ends with status 1.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
import threading
import traceback
from types import TracebackType
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# threads of Python; with eventlet, the other choice, os-ken would poll
os.environ["OSKEN_HUB_TYPE"] = "native"

#: Name under which the module of a user's application is imported.
OWN = "own_controller"
#: Name of the default application's module.
DEFAULT = "sdn"

Raised = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]


class Ending(logging.Handler):
    """End the process at the first error that os-ken, or an application, logs; os-ken itself would go on."""

    def __init__(self, app: str | None) -> None:
        super().__init__(logging.ERROR)
        self.app = app

    def emit(self, record: logging.LogRecord) -> None:
        """End the process, with what the record says as reason."""
        if record.exc_info and record.exc_info[0] is not None:
            self.end(record.exc_info)
        lines = record.getMessage().strip().splitlines()
        self._say(f"the controller logged an error: {lines[-1] if lines else record.name}")

    def end(self, raised: Raised) -> None:
        """End the process, with an exception as reason."""
        kind, error, where = raised
        name = "" if kind is None else kind.__name__
        if name in ("Refused", "RuntimeError"):
            self._say(str(error))
        frames = traceback.extract_tb(where)
        own = [frame for frame in frames if frame.filename == self.app] or frames
        at = f" ({os.path.basename(own[-1].filename)}, line {own[-1].lineno})" if own else ""
        if isinstance(error, SyntaxError):
            at = f" ({os.path.basename(error.filename or '')}, line {error.lineno})"
            error = SyntaxError(error.msg)
        who = "the controller" if self.app is None else f"the controller {os.path.basename(self.app)}"
        self._say(f"{who} raised {name}: {error}{at}")

    def _say(self, reason: str) -> None:
        os.write(2, f"{reason}\n".encode())
        os._exit(1)


def main(path: str) -> None:
    """Run the application of a plan until the input says ``stop``."""
    with open(path) as file:
        plan = json.load(file)
    # what an application prints must not get between the answers
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    ending = Ending(plan["app"])
    logging.getLogger().addHandler(ending)
    sys.excepthook = lambda *raised: ending.end(raised)
    threading.excepthook = lambda raised: ending.end((raised.exc_type, raised.exc_value, raised.exc_traceback))
    ready = _started(plan)
    ready()
    print("true", file=answers, flush=True)
    for line in sys.stdin:
        if line.strip() == "stop":
            from sdn import testbed

            print(json.dumps({name: list(each.rows) for name, each in testbed.switches.items()}), file=answers)
            answers.flush()
            os._exit(0)
    os._exit(0)


def _started(plan: dict[str, Any]) -> Any:
    """Start os-ken with the application; return a function that waits until all switches are ready."""
    from os_ken import cfg
    from os_ken.base.app_manager import AppManager, OSKenApp
    from os_ken.controller import handler, ofp_event, ofp_handler
    from os_ken.lib import hub
    from sdn import Controller, Refused, testbed

    # With threads, os-ken takes every exception for the wish to end a thread, and says nothing. So name this wish.
    hub.TaskExit = type("TaskExit", (Exception,), {})
    testbed.read(plan)
    cfg.CONF.set_override("ofp_tcp_listen_port", plan["port"])
    cfg.CONF.set_override("ofp_listen_host", "127.0.0.1")
    if plan["app"] is not None:
        _imported(plan["app"])
    connected = {name: threading.Event() for name in testbed.switches}

    class Watch(OSKenApp):
        """Knows when switches are connected; ends the run if the application leaves a refusal unanswered."""

        @handler.set_ev_cls(ofp_event.EventOFPStateChange, handler.MAIN_DISPATCHER)
        def connected(self, event: Any) -> None:
            connected[testbed.of(event.datapath).name].set()

        @handler.set_ev_cls(ofp_event.EventOFPErrorMsg, [handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER])
        def refused(self, event: Any) -> None:
            if not any(ofp_event.EventOFPErrorMsg in app.event_handlers for app in apps):
                raise Refused(testbed.of(event.msg.datapath).refusal(event.msg))

    manager = AppManager.get_instance()
    manager.load_apps([DEFAULT if plan["app"] is None else OWN, ofp_handler.__name__])
    if plan["app"] is not None and OWN not in manager.applications_cls:
        raise RuntimeError(f"{os.path.basename(plan['app'])} defines no application of os-ken (a class of OSKenApp)")
    contexts = manager.create_contexts()
    manager.instantiate(Watch)
    manager.instantiate_apps(**contexts)
    apps = [app for app in manager.applications.values() if app.__class__.__module__ in (DEFAULT, OWN)]

    def wait() -> None:
        for event in connected.values():
            event.wait()
        if any(isinstance(app, Controller) for app in apps):
            for bridge in testbed.switches.values():
                bridge.ready.wait()

    return wait


def _imported(path: str) -> None:
    """Import a user's application, which may have been written for Ryu."""
    import ryu_names

    ryu_names.install()
    spec = importlib.util.spec_from_file_location(OWN, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[OWN] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main(sys.argv[1])
