# SPDX-License-Identifier: Apache-2.0
"""The process of the OpenFlow controller: os-ken with an application, which may be several files.

``ovs_process.py`` starts it as ``sdn_process.py PLAN``. It prints one line when every switch is ready, and one line
with its records when its input says ``stop``. If the application raises, or a switch refuses a message, it prints the
reason to its log and ends with status 1.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import logging
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# threads of Python; with eventlet, the other choice, os-ken would poll
os.environ["OSKEN_HUB_TYPE"] = "native"

from clock import be_exact, sleep_until
from sdn_ports import Ports

if TYPE_CHECKING:
    # it is imported by another name; with this line it counts as code of the guest, and so for the identity of a run
    import sdn_learning  # noqa: F401

#: Name under which the first module of a user's application is imported, unless it is a package.
OWN = "own_controller"
#: Name of the default application's module.
DEFAULT = "sdn"

#: Modules of Ryu that os-ken lacks, and that public applications derive from.
LENT = {"os_ken.app.simple_switch_13": os.path.join(os.path.dirname(os.path.abspath(__file__)), "sdn_learning.py")}

Raised = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]


class Ending(logging.Handler):
    """End the process at the first error that os-ken, or an application, logs; os-ken itself would go on."""

    def __init__(self, app: dict[str, Any] | None) -> None:
        super().__init__(logging.ERROR)
        self.app = app
        self.own = set() if app is None else {app["path"], *app.get("modules", {}).values()}

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
        own = [frame for frame in frames if frame.filename in self.own] or frames
        at = f" ({os.path.basename(own[-1].filename)}, line {own[-1].lineno})" if own else ""
        if isinstance(error, SyntaxError):
            at = f" ({os.path.basename(error.filename or '')}, line {error.lineno})"
            error = SyntaxError(error.msg)
        who = "the controller" if self.app is None else f"the controller {label(self.app)}"
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
    from os_ken.lib import hub

    if plan["app"] is None:
        # With threads, os-ken takes every exception for the wish to end a thread, and says nothing. So name this wish.
        hub.TaskExit = type("TaskExit", (Exception,), {})
    else:
        import sdn_hub

        be_exact()  # all threads inherit that
        sdn_hub.install(hub)
    from os_ken.base.app_manager import AppManager, OSKenApp
    from os_ken.controller import handler, ofp_event, ofp_handler
    from sdn import Controller, Refused, testbed

    testbed.read(plan)
    cfg.CONF.set_override("ofp_tcp_listen_port", plan["port"])
    cfg.CONF.set_override("ofp_listen_host", "127.0.0.1")
    own = [] if plan["app"] is None else _imported(plan["app"], OSKenApp)
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

    if plan["observe_links"]:
        from os_ken.topology import switches as discovery

        discovery.CONF.set_override("observe_links", True)
    manager = AppManager.get_instance()
    if plan["app"] is not None and not own:
        raise RuntimeError(f"{label(plan['app'])} defines no application of os-ken (a class of OSKenApp)")
    manager.load_apps([*(own or [DEFAULT]), ofp_handler.__name__])
    if own:
        sleep_until(plan["begin_ns"])
    contexts = manager.create_contexts()
    manager.instantiate(Watch)
    manager.instantiate_apps(**contexts)
    apps = [app for app in manager.applications.values() if app.__class__.__module__ in (DEFAULT, *own)]
    Ports(plan["switches"], plan["epoch_ns"]).start()

    def wait() -> None:
        for event in connected.values():
            event.wait()
        if any(isinstance(app, Controller) for app in apps):
            for bridge in testbed.switches.values():
                bridge.ready.wait()

    return wait


def label(app: dict[str, Any]) -> str:
    """Return the name of a user's application: that of its file or of its directory."""
    return str(app.get("label", os.path.basename(app["path"])))


class Own(MetaPathFinder):
    """Finds the modules of a user's application among its files, and no others that may lie beside them.

    Parameters
    ----------
    modules : dict of str to str
        Paths by the names of modules. A directory that is part of a name needs no file of its own.
    """

    def __init__(self, modules: dict[str, str]) -> None:
        self.modules = modules

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002  (Python's signature)
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return how to import a module of the application; None if it has no such module."""
        if fullname in self.modules:
            file = self.modules[fullname]
            # a package's modules are found here, too, so its list of directories may be empty
            inner: list[str] | None = [] if os.path.basename(file) == "__init__.py" else None
            return importlib.util.spec_from_file_location(fullname, file, submodule_search_locations=inner)
        if any(name.startswith(f"{fullname}.") for name in self.modules):
            return ModuleSpec(fullname, None, is_package=True)
        return None


def _is_taken(name: str) -> bool:
    """Return whether a module has a name already: one that is loaded, or may be. Ours for hosts are not loaded here."""
    if name in sys.modules or name in sys.stdlib_module_names:
        return True
    found = importlib.util.find_spec(name)
    return found is not None and os.path.dirname(found.origin or "") != os.path.dirname(os.path.abspath(__file__))


def _imported(app: dict[str, Any], base: type) -> list[str]:
    """Import a user's application, which may have been written for Ryu, and return the modules of its classes.

    They are those of the classes derived from `base` that the first module defines or imports from the others, without
    classes from which another one of them derives.
    """
    import ryu_names

    first, others = app.get("package") or OWN, app.get("modules", {})
    for name in sorted({first, *(other.partition(".")[0] for other in others)}):
        if _is_taken(name):
            raise RuntimeError(
                f"{label(app)} has a module '{name}', as Python, os-ken or rdcnlab has; give it another name"
            )
    ryu_names.install()
    sys.meta_path.insert(0, Own({**LENT, first: app["path"], **others}))
    module = importlib.import_module(first)
    every = [one for one in vars(module).values() if inspect.isclass(one) and issubclass(one, base)]
    found = [one for one in every if one.__module__ == first or one.__module__ in others]
    last = [one for one in found if not any(other is not one and issubclass(other, one) for other in found)]
    return list(dict.fromkeys(one.__module__ for one in last))


if __name__ == "__main__":
    main(sys.argv[1])
