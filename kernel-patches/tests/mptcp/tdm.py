# SPDX-License-Identifier: Apache-2.0
"""The scheduler for time-division networks: data on the active network's subflow and on no other."""

import ctypes
import time

from lab import Transfer, counter, equal, main
from paths import QUIET, RATE, Paths

LIBC = ctypes.CDLL(None, use_errno=True)
#: An address of no family, with which connect() ends a connection; Python has no word for it.
UNSPEC = bytes(16)
SECOND = RATE // 8  # bytes that a link carries in one


def during(paths: Paths, seconds: float) -> list[int]:
    """Return the bytes that a sends on each link within a time."""
    before = paths.carried()
    time.sleep(seconds)
    return [now - then for now, then in zip(paths.carried(), before, strict=True)]


def only(seen: list[int], link: int | None, seconds: float) -> None:
    """Check that a link is nearly full and the others quiet; None: that all are."""
    for i, count in enumerate(seen):
        if i == link and not 0.8 * SECOND * seconds < count < 1.01 * SECOND * seconds:
            raise AssertionError(f"link {i} carried {count} B in {seconds} s: {seen}")
        if i != link and count > QUIET:
            raise AssertionError(f"link {i} carried {count} B, it should be quiet: {seen}")


def case_default_uses_both() -> str:
    """What the others are compared with: the scheduler of the kernel takes all there is."""
    with Paths("default") as paths:
        transfer = Transfer(*paths.connect(), 32 << 20)
        time.sleep(0.3)
        seen = during(paths, 0.5)
        transfer.wait()
    if min(seen) < 0.5 * SECOND * 0.5:
        raise AssertionError(f"the links carried {seen} B in 0.5 s")
    return f"{seen} B"


def case_only_the_active_one() -> str:
    """TDN 0: link 0; TDN 1: link 1; and back."""
    with Paths() as paths:
        transfer = Transfer(*paths.connect(), 32 << 20)
        for tdn in (0, 1, 0, 1):
            paths.active(tdn)
            time.sleep(0.3)  # slow start, and what was under way
            only(during(paths, 0.3), tdn, 0.3)
        return f"{transfer.wait():.3f} s"


def case_the_network_of_the_destination() -> str:
    """The address that the connection was made to decides for both subflows; a change of the default is not its own."""
    with Paths() as paths:
        transfer = Transfer(*paths.connect(), 40 << 20)
        for prefix, tdn, link in (("10.0.0.2/32", 1, 1), ("10.0.1.2/32", 0, 1), ("10.0.0.2/32", 0, 0)):
            paths.active_towards(prefix, tdn)
            time.sleep(0.3)
            only(during(paths, 0.3), link, 0.3)
        paths.active(1, "a")
        time.sleep(0.3)
        only(during(paths, 0.3), 0, 0.3)
        return f"{transfer.wait():.3f} s"


def case_active_from_the_beginning() -> None:
    """A subflow that is made while its network is active is used as soon as it is there, and none before."""
    with Paths() as paths:
        paths.active(1)
        near, far = paths.connect()
        transfer = Transfer(near, far, 16 << 20)
        time.sleep(0.3)
        only(during(paths, 0.3), 1, 0.3)
        transfer.wait()


def case_short_days() -> str:
    """200 changes, 10 ms apart: nothing is lost, nothing stands still, both carry their share."""
    with Paths() as paths:
        near, far = paths.connect()
        before = paths.carried()
        transfer = Transfer(near, far, 16 << 20)
        for n in range(200):
            paths.active(n % 2)
            time.sleep(0.01)
        paths.active(0)
        took = transfer.wait()
        shares = [now - then for now, then in zip(paths.carried(), before, strict=True)]
    if min(shares) < 0.35 * sum(shares) or took > 2:
        raise AssertionError(f"{shares} B in {took:.3f} s")
    return f"{shares} B in {took:.3f} s"


def case_network_without_subflow() -> None:
    """TDN 2 has none: data wait, and go on when TDN 1 is active, at once."""
    with Paths(tdns=3) as paths:
        transfer = Transfer(*paths.connect(), 16 << 20)
        time.sleep(0.3)
        paths.active(2)
        time.sleep(0.2)  # queue and retransmissions
        only(during(paths, 5), None, 5)
        paths.active(1)
        seen = during(paths, 0.005)
        if seen[1] < 10 * 1500:
            raise AssertionError(f"5 ms later: {seen} B")
        transfer.wait()


def case_waiting_data_are_pushed() -> None:
    """Data that nobody could send, with nothing under way, leave when the network changes and not before."""
    with Paths(tdns=3) as paths:
        near, far = paths.connect()
        paths.active(2)
        near.send(bytes(10_000))
        far.settimeout(1)
        try:
            raise AssertionError(f"{len(far.recv(1))} B came")
        except TimeoutError:
            pass
        for tdn in (1, 0):
            paths.active(2)
            near.send(bytes(10_000))
            time.sleep(0.1)
            before, begun = paths.carried(), time.monotonic()
            paths.active(tdn)
            left = 20_000 if tdn == 1 else 10_000
            while left:
                left -= len(far.recv(left))
            took = time.monotonic() - begun
            if took > 0.005:
                raise AssertionError(f"they took {took} s")
            sent = [now - then for now, then in zip(paths.carried(), before, strict=True)]
            if sent[1 - tdn] > QUIET or sent[tdn] < 10_000:
                raise AssertionError(f"TDN {tdn}: {sent}")


def case_no_networks() -> None:
    """Without time-division networks the first one is active for ever."""
    with Paths(tdns=0) as paths:
        transfer = Transfer(*paths.connect(), 16 << 20)
        time.sleep(0.3)
        only(during(paths, 0.3), 0, 0.3)
        transfer.wait()


def case_namespaces_have_their_own() -> None:
    """A change that only the receiver hears of moves nothing."""
    with Paths() as paths:
        transfer = Transfer(*paths.connect(), 16 << 20)
        time.sleep(0.3)
        paths.active(1, "b")
        only(during(paths, 0.3), 0, 0.3)
        transfer.wait()


def case_accepted_end_sends() -> None:
    """The end that accepted counts its subflows alike."""
    with Paths() as paths:
        near, far = paths.connect()
        transfer = Transfer(far, near, 32 << 20)
        for tdn in (0, 1):
            paths.active(tdn)
            time.sleep(0.3)
            before = paths.carried("b")
            time.sleep(0.3)
            only([now - then for now, then in zip(paths.carried("b"), before, strict=True)], tdn, 0.3)
        transfer.wait()


def case_stranded_data_are_sent_again() -> str:
    """What a network took with it for good comes on the active subflow, all of it."""
    with Paths() as paths:
        transfer = Transfer(*paths.connect(), 4 << 20)
        time.sleep(0.1)
        paths.lose(True, 0)
        paths.active(1)
        took = transfer.wait()
        again = counter("a", "MPTcpExt", "MPTCPRetrans")
        equal(again > 0, True, "segments sent again by the connection")
        paths.lose(False, 0)
        return f"{took:.3f} s, {again} segments"


def case_losses_of_the_active_subflow_are_its_own() -> None:
    """A queue that is too short makes losses; with one network the connection sends nothing again."""
    with Paths() as paths:
        transfer = Transfer(*paths.connect(), 16 << 20)
        transfer.wait()
        equal(counter("a", "MPTcpExt", "MPTCPRetrans"), 0, "segments sent again by the connection")


def case_plain_tcp() -> None:
    """A peer without MPTCP: plain TCP, whatever is active."""
    with Paths() as paths:
        near, far = paths.connect(plain=True)
        paths.active(1)
        transfer = Transfer(near, far, 4 << 20)
        time.sleep(0.1)
        only(during(paths, 0.1), 0, 0.1)
        transfer.wait()


def case_connects_again() -> None:
    """A socket's second connection counts its subflows as the first did: each network has one."""
    with Paths() as paths:
        near, far = paths.connect()
        if LIBC.connect(near.fileno(), UNSPEC, len(UNSPEC)):
            raise OSError(ctypes.get_errno(), "connect to AF_UNSPEC")
        far.close()
        near.connect(("10.0.0.2", 5000))
        far = paths.sockets[-1].accept()[0]
        paths.sockets.append(far)
        near.send(b"\0")
        equal(far.recv(1), b"\0", "the first byte")
        time.sleep(0.1)
        transfer = Transfer(near, far, 32 << 20)
        for tdn in (0, 1):
            paths.active(tdn)
            time.sleep(0.3)
            only(during(paths, 0.3), tdn, 0.3)
        transfer.wait()


def case_close_while_waiting() -> None:
    """A connection that is closed while its data wait goes away, and its change of network hits nothing."""
    with Paths(tdns=3) as paths:
        for _ in range(20):
            near, far = paths.connect()
            paths.active(2)
            near.setblocking(False)  # nobody makes room
            near.send(bytes(100_000))
            near.close()
            far.close()
            paths.sockets.pop().close()
            paths.active(0)
            paths.active(1)
            paths.active(0)
            time.sleep(0.1)


if __name__ == "__main__":
    main(globals())
