# SPDX-License-Identifier: Apache-2.0
"""What is taken for lost when networks change, and what is not.

Kinds of reordering as in figure 12 of the paper (appendix): data, ACKs or both cross the change from the slow to the
fast network, at different distances.  None is a loss, so none may be retransmitted.
"""

import socket
import struct
import threading
import time

from lab import Trace, Transfer, counter, equal, main, sh, until
from ocs import slot
from rack import CIRCUIT, MS, PACKET, US, Capture, Rack, info

#: Payload of a full segment: 9000 B without 40 B of headers and 12 B of time stamps.
SEGMENT = 8948


def retransmitted(rows: list[dict]) -> int:
    """Count data segments of h0 that the switch saw twice."""
    seen, twice = set(), 0
    for row in rows:
        if row["src"] == 1 and row["data"]:
            twice += row["seq"] in seen
            seen.add(row["seq"])
    return twice


def case_reordering_of_every_kind() -> str:
    """No change of networks makes a sender retransmit, whatever was on its way and in which direction."""
    changes = 0
    for phase in range(0, 200 * US, 13 * US):
        # wide queues, so that nothing is lost; the change meets data, ACKs or both at every distance
        with Rack(voq=4000) as rack:
            client, server = rack.connect()
            with Capture() as rows, rack.turns((MS + phase, PACKET), (300 * US, CIRCUIT)):
                Transfer(client, server, 5_000_000).wait()
            changes += info(client)["switches"]
            equal(retransmitted(rows), 0, f"segments sent twice, phase {phase} ns")
            equal([p["lost"] for p in info(client)["path"]], [0, 0], f"lost, phase {phase} ns")
    return f"{changes} changes"


def case_one_direction_first() -> str:
    """Also where data change networks before ACKs do, and the other way round."""
    for late in (0, 1):
        for gap in (10 * US, 30 * US, 70 * US):
            with Rack(voq=4000) as rack:
                client, server = rack.connect()
                with rack.net.ocs as ocs:
                    ocs.class_set(late, phase=gap)
                with Capture() as rows, rack.turns((700 * US, PACKET), (300 * US, CIRCUIT)):
                    with rack.net.ocs as ocs:
                        ocs.class_set(late, phase=gap)
                    Transfer(client, server, 5_000_000).wait()
                equal(retransmitted(rows), 0, f"segments sent twice; class {late} is {gap} ns late")
    return ""


def case_an_ack_looks_at_what_it_may_say_something_new_of() -> str:
    """What is out through one network does not make each ACK of the other one dear.

    The packet network is slow and has 1000 segments out. 1000 more go through the circuit, out of order, and each is
    acknowledged by itself. An ACK may look at two segments of the packet network, the first and the last, and at few
    of the circuit, not at all 1000.
    """
    out = 1000
    with Rack(
        voq=4000,
        tcp_comp_sack_nr=0,
        tcp_rmem="4096 33554432 134217728",
        tcp_wmem="4096 33554432 67108864",
    ) as rack:
        with rack.net.ocs as ocs:
            for link in (PACKET, PACKET + 2):
                ocs.link_set(link, delay=100 * MS)
        client, server = rack.connect()
        for network, size in ((PACKET, 60_000_000), (CIRCUIT, 30_000_000)):
            rack.always(network)
            Transfer(client, server, size).wait()
            time.sleep(1)
        rack.always(PACKET)
        reader = threading.Thread(target=receive, args=(server, 2 * out * SEGMENT))
        reader.start()
        client.sendall(bytes(out * SEGMENT))
        time.sleep(0.015)
        rack.always(CIRCUIT)
        before = info(client)["path"]
        client.sendall(bytes(out * SEGMENT))
        time.sleep(0.04)
        after = info(client)["path"]
        equal([p["packets_out"] >= out for p in after], [True, True], "segments out through each network")
        equal([p["lost"] for p in after], [p["lost"] for p in before], "lost")
        looked = [late["looked"] - early["looked"] for early, late in zip(before, after, strict=True)]
        equal([0 < count <= 2 * out for count in looked], [True, True], f"looked at {looked}, at most two for an ACK")
        reader.join(60)
    return f"{looked} segments"


def receive(server: socket.socket, size: int) -> None:
    """Read so many bytes."""
    while size:
        size -= len(server.recv(min(size, 1 << 20)))


def case_plain_tcp_retransmits() -> str:
    """The same with plain TCP retransmits in vain: what the tests above ask for is not there by itself."""
    total = 0
    for phase in range(0, 200 * US, 50 * US):
        with Rack(voq=4000) as rack:
            rack.sysctl(0, "tcp_tdtcp", 0)
            client, server = rack.connect()
            with Capture() as rows, rack.turns((MS + phase, PACKET), (300 * US, CIRCUIT)):
                Transfer(client, server, 5_000_000).wait()
            total += retransmitted(rows)
    equal(total > 0, True, "segments that plain TCP sent twice")
    return f"{total} segments"


def dark_tail(rack: Rack, at: int) -> None:
    """Lose what the packet network carries in its last 30 us before `at`, then give the circuit."""
    with rack.net.ocs as ocs:
        ocs.class_set(0, [slot(at - 30 * US, PACKET), slot(30 * US, 0xFFFF), slot(10**12, CIRCUIT)], hold=False)
        ocs.class_set(1, [slot(at, PACKET + 2), slot(10**12, CIRCUIT + 2)], hold=True)


def case_true_tail_loss() -> str:
    """The last segments of a network that goes away are lost: they come again by the other one, before any timeout."""
    with Rack(voq=4000, tcp_rmem="4096 500000 500000") as rack:  # arrivals are clocked by ACKs
        client, server = rack.connect()
        Transfer(client, server, 2_000_000).wait()
        dark_tail(rack, 20 * MS)
        epoch = (time.monotonic_ns() // MS + 2) * MS
        rack.net.ocs.start(epoch)
        until(epoch + 19 * MS)
        before = counter("h0", "TcpExt", "TCPTimeouts")
        with Capture() as rows:
            transfer = Transfer(client, server, 30_000_000)
            until(epoch + 20 * MS)
            rack.tell(CIRCUIT)
            seconds = transfer.wait()
        twice = retransmitted(rows)
        equal(counter("h0", "TcpExt", "TCPTimeouts") - before, 0, "timeouts")
        seen = info(client)
        lost = [p["lost"] for p in seen["path"]]
        equal(lost[PACKET] > 0, True, f"lost on the packet network: {lost}")
        equal(seen["path"][CIRCUIT]["ca_state"], 0, "state of the circuit")
        equal(seconds < 0.1, True, f"{seconds} s")
        equal(seen["path"][PACKET]["packets_out"], 0, "what the packet network has out")
        return f"{twice} again, lost {lost}, {seconds * 1e3:.2f} ms"


def case_timeout_expects_the_slowest() -> str:
    """The timeout of a circuit's segment is half its RTT, half the packet network's, and the largest variance.

    With RTTs of 200 and 20 ms that is far from either network's own, and from a tick of 4 ms.
    """
    with Rack(tcp_rto_min_us=1000) as rack:
        with rack.net.ocs as ocs:
            for link, ms in ((PACKET, 100), (PACKET + 2, 100), (CIRCUIT, 10), (CIRCUIT + 2, 10)):
                ocs.link_set(link, delay=ms * MS)
        client, server = rack.connect()
        for network in (PACKET, CIRCUIT):
            rack.always(network)
            for _ in range(40):  # one segment after the other, so that the variance becomes small
                Transfer(client, server, 1000).wait()
                time.sleep(0.3)
        packet, circuit = info(client)["path"]
        equal([round(p["srtt_us"], -4) for p in (packet, circuit)], [200_000, 20_000], "smoothed RTTs")
        client.send(bytes(1000))
        (rto_us,) = struct.unpack_from("I", client.getsockopt(socket.SOL_TCP, socket.TCP_INFO, 192), 8)
        expected = (packet["srtt_us"] + circuit["srtt_us"]) / 2 + 4 * max(packet["rttvar_us"], circuit["rttvar_us"])
        equal(abs(rto_us - expected) <= 4000, True, f"timeout {rto_us} us, expected {expected} us")
        own = [p["srtt_us"] + 4 * p["rttvar_us"] for p in (packet, circuit)]
        equal(min(abs(rto_us - each) for each in own) > 20_000, True, f"timeout {rto_us} us, of one network {own} us")
        return f"{rto_us} us, of the networks by themselves {own} us"


def nothing_arrives(rack: Rack) -> None:
    """Lose all data from now on, whatever the network."""
    with rack.net.ocs as ocs:
        ocs.class_set(0, [slot(0, 0xFFFF)], hold=False)


def case_timeouts_across_a_change() -> str:
    """A segment of the packet network times out, the circuit comes, and it goes on timing out.

    Patience is what was asked for, TCP_USER_TIMEOUT, from the first retransmission on; the circuit has none.
    """
    with Rack() as rack:
        client, server = rack.connect()
        Transfer(client, server, 1_000_000).wait()
        time.sleep(0.1)
        client.setsockopt(socket.SOL_TCP, 18, 20_000)  # TCP_USER_TIMEOUT, ms; this guest is up for longer
        nothing_arrives(rack)
        transfer = Transfer(client, server, 50_000)
        time.sleep(0.3)  # one timeout
        rack.tell(CIRCUIT)
        time.sleep(2)  # some more
        timeouts = counter("h0", "TcpExt", "TCPTimeouts")
        rack.always(CIRCUIT)
        transfer.wait()
        equal(timeouts >= 3, True, f"{timeouts} timeouts")
        return f"{timeouts} timeouts"


def case_timeout_with_losses_in_two_networks() -> str:
    """Both networks lost something: an ACK after the timeout is about one of them, and undoes nothing in the other."""
    with Rack() as rack:
        client, server = rack.connect()
        Transfer(client, server, 1_000_000).wait()
        rack.always(CIRCUIT)
        Transfer(client, server, 1_000_000).wait()
        rack.always(PACKET)
        Transfer(client, server, 100_000).wait()
        time.sleep(0.1)
        before = counter("h0", "TcpExt", "TCPLossUndo")
        nothing_arrives(rack)
        first = Transfer(client, server, 45_000)
        time.sleep(0.001)
        rack.tell(CIRCUIT)
        client.sendall(bytes(45_000))
        time.sleep(0.1)
        out = [path["packets_out"] for path in info(client)["path"]]
        equal(min(out) > 0, True, f"packets out: {out}")
        rack.always(CIRCUIT)
        first.wait()
        left = 45_000
        while left:
            left -= len(server.recv(left))
        time.sleep(0.1)
        equal(counter("h0", "TcpExt", "TCPLossUndo") - before, 0, "losses undone")
        seen = info(client)["path"]
        equal([path["packets_out"] for path in seen], [0, 0], "packets out at the end")
        return f"{out} packets out at the timeout"


def case_hole_of_another_network_undoes_nothing() -> str:
    """A hole that the circuit left is filled, and what the packet network delivered behind it becomes acknowledged.

    That says nothing of what the packet network lost further behind: it comes again, and no timeout is needed for it.
    """
    with Rack() as rack:
        client, server = rack.connect()
        Transfer(client, server, 1_000_000).wait()
        rack.always(CIRCUIT)
        Transfer(client, server, 1_000_000).wait()
        time.sleep(0.1)
        mss = client.getsockopt(socket.SOL_TCP, socket.TCP_MAXSEG)
        names = ("TCPTimeouts", "TCPPartialUndo", "TCPFullUndo")
        before = [counter("h0", "TcpExt", name) for name in names]
        lost = [path["lost"] for path in info(client)["path"]]
        begin, left = time.monotonic_ns() + MS, 18 * mss
        until(begin)
        nothing_arrives(rack)
        client.sendall(bytes(10 * mss))  # lost on the circuit
        until(begin + 5 * US)
        rack.always(PACKET)
        client.sendall(bytes(2 * mss))
        until(begin + 25 * US)
        nothing_arrives(rack)
        client.sendall(bytes(4 * mss))  # lost on the packet network
        until(begin + 26 * US)
        rack.always(PACKET)
        client.sendall(bytes(2 * mss))
        while left:
            left -= len(server.recv(left))
        took_ms = (time.monotonic_ns() - begin) / MS
        time.sleep(0.1)
        equal([counter("h0", "TcpExt", name) for name in names], before, f"{names}")
        lost = [path["lost"] - was for path, was in zip(info(client)["path"], lost, strict=True)]
        equal(min(lost) > 0, True, f"lost on each network: {lost}")
        equal(took_ms < 50, True, f"{took_ms} ms")
        return f"{took_ms:.2f} ms, lost {lost}"


def case_retransmissions_for_another_network_take_room() -> str:
    """What the circuit lost comes again by the packet network and takes its window from new segments."""
    with Rack(voq=4000) as rack:
        client, server = rack.connect()
        Transfer(client, server, 5_000_000).wait()
        rack.always(CIRCUIT)
        Transfer(client, server, 5_000_000).wait()
        time.sleep(0.1)
        with Trace("ocs_enqueue") as rows:
            nothing_arrives(rack)
            transfer = Transfer(client, server, 3_000_000)  # its first window is lost on the circuit
            time.sleep(10 * US / 1e9)
            rack.always(PACKET)
            transfer.wait()
        packet, circuit = info(client)["path"]
        equal((packet["lost"], circuit["lost"] > 20), (0, True), f"lost on the circuit alone: {circuit['lost']}")
        most, window = max(row["qlen"] for row in rows if row["cls"] == 0) // 9000, packet["cwnd"]
        equal(most <= window, True, f"packets in the queue, with a window of {window}: {most}")
        return f"{most} packets in the queue, window {window}"


def two_networks(rack: Rack) -> tuple[socket.socket, socket.socket]:
    """Return both ends of a connection that has used both networks, with the circuit active, and nothing in flight."""
    client, server = rack.connect()
    Transfer(client, server, 1_000_000).wait()
    rack.always(CIRCUIT)
    Transfer(client, server, 1_000_000).wait()
    time.sleep(0.1)
    return client, server


def take(server: socket.socket, size: int) -> None:
    """Receive so many bytes."""
    while size:
        size -= len(server.recv(size))


def case_probe_cuts_the_network_that_lost() -> str:
    """A tail that the circuit lost is probed for by the packet network, and the circuit's window becomes smaller."""
    with Rack() as rack:
        client, server = two_networks(rack)
        size = 8000  # one segment
        before, probes = info(client)["path"], counter("h0", "TcpExt", "TCPLossProbes")
        recovered = counter("h0", "TcpExt", "TCPLossProbeRecovery")
        nothing_arrives(rack)
        client.sendall(bytes(size))
        time.sleep(30 * US / 1e9)
        rack.always(PACKET)
        take(server, size)
        client.sendall(bytes(size))  # its ACK tells that the probe was not in vain
        take(server, size)
        time.sleep(0.1)
        equal(counter("h0", "TcpExt", "TCPLossProbes") - probes, 1, "loss probes")
        equal(counter("h0", "TcpExt", "TCPLossProbeRecovery") - recovered, 1, "losses that they repaired")
        seen = info(client)["path"]
        names = ("cwnd", "ssthresh")
        equal([seen[PACKET][n] for n in names], [before[PACKET][n] for n in names], "the packet network")
        equal(seen[CIRCUIT]["ssthresh"] < before[CIRCUIT]["cwnd"], True, f"the circuit: {seen[CIRCUIT]}")
        return f"threshold of the circuit {seen[CIRCUIT]['ssthresh']}"


def case_dsack_undoes_in_the_network_that_resent() -> str:
    """Both networks time out; only what the circuit sent was late: only its window comes back."""
    with Rack() as rack:
        client, server = two_networks(rack)
        mss = client.getsockopt(socket.SOL_TCP, socket.TCP_MAXSEG)
        before, undone = info(client)["path"], counter("h0", "TcpExt", "TCPDSACKUndo")
        with rack.net.ocs as ocs:
            ocs.link_set(CIRCUIT, delay=1000 * MS)
        client.sendall(bytes(2 * mss))  # late
        time.sleep(30 * US / 1e9)
        nothing_arrives(rack)
        rack.tell(PACKET)
        client.sendall(bytes(2 * mss))  # lost
        time.sleep(0.1)
        rack.always(PACKET)
        take(server, 4 * mss)
        time.sleep(2)
        equal(counter("h0", "TcpExt", "TCPDSACKUndo") - undone, 1, "reductions undone")
        seen = info(client)["path"]
        equal(seen[CIRCUIT]["ssthresh"], before[CIRCUIT]["ssthresh"], "threshold of the circuit, which lost nothing")
        equal(seen[PACKET]["ssthresh"] < before[PACKET]["cwnd"], True, f"the packet network, which did: {seen[PACKET]}")
        return ""


def case_loss_with_fair_queueing() -> str:
    """Behind fq a paced segment departs in the future, and the circuit's overtake it: no loss needs a timeout."""
    with Rack(voq=5, tcp_tdtcp_pace=1) as rack:
        for host in range(2):
            sh(f"tc -n h{host} qdisc replace dev eth0 root fq")
        client, server = rack.connect()
        before = counter("h0", "TcpExt", "TCPTimeouts")
        with rack.turns((700 * US, PACKET), (300 * US, CIRCUIT), night=20 * US):
            Transfer(client, server, 20_000_000).wait()
        timeouts = counter("h0", "TcpExt", "TCPTimeouts") - before
        seen = info(client)["path"]
        equal(seen[PACKET]["lost"] > 0, True, "losses of the packet network")
        equal(timeouts, 0, "timeouts")
        return f"lost {[path['lost'] for path in seen]}"


def case_loss_stays_in_its_network() -> str:
    """A queue that overflows in the packet network makes that window smaller and not the circuit's."""
    with Rack(voq=5) as rack:
        client, server = rack.connect()
        rack.always(CIRCUIT)
        Transfer(client, server, 3_000_000).wait()
        time.sleep(0.1)
        before = info(client)["path"][CIRCUIT]
        rack.always(PACKET)
        Transfer(client, server, 30_000_000).wait()
        time.sleep(0.1)
        seen = info(client)["path"]
        equal(seen[PACKET]["lost"] > 0, True, "losses of the packet network")
        equal(seen[PACKET]["ssthresh"] < 1000, True, "threshold of the packet network")
        equal({k: seen[CIRCUIT][k] for k in ("cwnd", "ssthresh", "lost")},
              {k: before[k] for k in ("cwnd", "ssthresh", "lost")}, "the circuit")  # fmt: skip
        return f"{seen[PACKET]['lost']} lost"


main(globals())
