# SPDX-License-Identifier: Apache-2.0
"""Whose time passes: a task that polls pays for it, and nobody else."""

import contextlib
import os
import socket
import time

from lab import Net, burst, equal, main

FRAMES = 1500  # more than the 1000 readings of the clock, or calls that fail, that cost a task nothing


def case_packets_at_one_instant_cost_their_receiver_nothing() -> str:
    """The switch reads the clock for each frame, in interrupts; who takes the last one has read it once."""
    with Net(2) as net:
        sock, sink = net.udp(0), net.udp(1, 9)
        for end in (sock, sink):
            end.settimeout(None)  # with a timeout, Python reads the clock for each call
        ready, told = os.pipe()
        child = os.fork()
        if not child:
            for _ in range(FRAMES):
                sink.recv(2000)
            os.write(told, str(time.monotonic_ns()).encode())
            os._exit(0)
        time.sleep(0.01)
        before = time.monotonic_ns()
        burst(sock, 1, FRAMES, 100)
        after = time.monotonic_ns()
        equal(int(os.read(ready, 99)) - before, 0, "ns until the last of all frames is there")
        equal(after - before, 0, "ns that the sender saw pass")
        os.waitpid(child, 0)
        return ""


def case_failing_calls_of_others_cost_nothing() -> str:
    """Ten processes whose calls fail 150 times each, at one instant."""
    begun, done = time.monotonic_ns() + 10_000_000, []
    for _ in range(10):
        ready, told = os.pipe()
        child = os.fork()
        if not child:
            one, other = socket.socketpair()
            one.setblocking(False)
            time.sleep((begun - time.monotonic_ns()) / 1e9)
            start = time.monotonic_ns()
            for _ in range(150):
                with contextlib.suppress(BlockingIOError):
                    one.recv(1)
            os.write(told, str(time.monotonic_ns() - start).encode())
            other.close()
            os._exit(0)
        done.append((child, ready))
    for child, ready in done:
        equal(int(os.read(ready, 99)), 0, "ns that passed")
        os.waitpid(child, 0)
    return ""


def case_a_task_that_polls_pays() -> str:
    """From the 1001st reading on, 256 ns each; two that poll in turns come to an end as well."""
    for tasks in (1, 2):
        children = []
        for _ in range(tasks):
            child = os.fork()
            if not child:
                end = time.monotonic_ns() + 50_000
                while time.monotonic_ns() < end:
                    os.sched_yield()
                os._exit(0)
            children.append(child)
        equal([os.waitpid(child, 0)[1] for child in children], [0] * tasks, "ends")
    return ""


if __name__ == "__main__":
    main(globals())
