# SPDX-License-Identifier: Apache-2.0
"""Control ``simple_switch`` with the P4 project's ``simple_switch_CLI``, which stays open and reads line by line."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable

PROMPT = b"RuntimeCmd: "
#: Beginnings of error messages of ``simple_switch_CLI``.
REFUSAL = re.compile(r"^(Error|Invalid|Unknown|\*\*\*|.*[Ee]xception)", re.MULTILINE)


class Control:
    """A running ``simple_switch_CLI``.

    Parameters
    ----------
    command : list of str
        Command that starts it.
    environment : dict
        Environment variables with which it finds its modules.
    port : int
        Port at which the switch listens for thrift.
    check : callable
        Function that raises an error if the switch is not running.
    """

    def __init__(self, command: list[str], environment: dict[str, str], port: int, check: Callable[[], None]) -> None:
        self.check = check
        self.process = subprocess.Popen(
            [*command, "--thrift-port", str(port)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._answer("simple_switch_CLI")

    def tell(self, line: str) -> str:
        """Send a command and return the answer.

        Raises
        ------
        RuntimeError
            The switch refused the command. The message has the command and the answer.
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.check()
            raise RuntimeError(f"simple_switch_CLI is gone before: {line}") from None
        answer = self._answer(line)
        refusal = REFUSAL.search(answer)
        if refusal:
            self.check()
            words = " ".join(answer[refusal.start() :].split())
            raise RuntimeError(f"the P4 switch refuses '{line}': {words}")
        return answer

    def _answer(self, line: str) -> str:
        """Return the answer, which ends at the next prompt."""
        assert self.process.stdout is not None
        text = b""
        while not text.endswith(PROMPT):
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                self.check()
                raise RuntimeError(f"simple_switch_CLI ended at '{line}': {' '.join(text.decode().split())[-500:]}")
            text += more
        return text[: -len(PROMPT)].decode().strip()
