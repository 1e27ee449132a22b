# SPDX-License-Identifier: Apache-2.0
"""Each network has a window, a round-trip time and books of its own, and finds them when it comes back."""

import socket
import struct
import time

from lab import Trace, Transfer, counter, equal, inside, main, until
from rack import CIRCUIT, MS, PACKET, TCP_TDTCP, TCP_TDTCP_CONGESTION, US, Rack, info

INET_DIAG_INFO, INET_DIAG_TDTCP = 2, 1024
WEEK = ((180 * US, PACKET),) * 6 + ((180 * US, CIRCUIT),)


def empty(seen: dict) -> None:
    """Fail unless nothing is in flight in any network."""
    for path in seen["path"]:
        equal([path[k] for k in ("packets_out", "sacked_out", "lost_out", "retrans_out")], [0] * 4, f"pipe of {path}")


def case_round_trip_times_do_not_mix() -> str:
    """100 us and 40 us, and what waits in the queue.

    What leaves a host before a night and waits in the switch until its end goes by another network than its tag says.
    An ACK of the packet network may so return by the circuit: 50 us there, 20 us and the wait back.
    """
    with Rack() as rack:
        client, server = rack.connect()
        with rack.turns(*WEEK, night=20 * US):
            Transfer(client, server, 50_000_000).wait()
        time.sleep(0.1)
        seen = info(client)
        empty(seen)
        packet, circuit = seen["path"]
        equal(70 <= packet["min_rtt_us"] <= 130, True, f"smallest RTT of the packet network: {packet['min_rtt_us']} us")
        equal(40 <= circuit["min_rtt_us"] <= 50, True, f"smallest RTT of the circuit: {circuit['min_rtt_us']} us")
        equal(packet["srtt_us"] >= 100 > circuit["srtt_us"], True, f"{packet['srtt_us']}, {circuit['srtt_us']} us")
        return f"{packet['srtt_us']} and {circuit['srtt_us']} us"


def case_window_is_there_again() -> str:
    """What a network's window was when it went away it is when it comes back, and nothing grows meanwhile."""
    with Rack() as rack:
        client, server = rack.connect()
        Transfer(client, server, 10_000_000).wait()
        rack.tell(CIRCUIT)
        rack.always(CIRCUIT)
        Transfer(client, server, 10_000_000).wait()
        time.sleep(0.1)
        before = info(client)
        rack.always(PACKET)
        transfer = Transfer(client, server, 1_000_000)
        transfer.wait()
        time.sleep(0.1)
        after = info(client)
        equal(after["path"][CIRCUIT], before["path"][CIRCUIT], "the circuit's state while it is away")
        equal(after["active"], PACKET, "active network")
        rack.always(CIRCUIT)
        Transfer(client, server, 1000).wait()
        again = info(client)
        equal(again["path"][CIRCUIT]["cwnd"], before["path"][CIRCUIT]["cwnd"], "window after the return")
        return f"windows {before['path'][0]['cwnd']} and {before['path'][1]['cwnd']}"


def case_long_absence() -> str:
    """Also after a second away, longer than any timeout, which would restart an idle connection's window."""
    with Rack() as rack:
        client, server = rack.connect()
        rack.always(CIRCUIT)
        Transfer(client, server, 20_000_000).wait()
        time.sleep(0.1)  # until the last ACK is there
        window = info(client)["path"][CIRCUIT]["cwnd"]
        rack.always(PACKET)
        Transfer(client, server, 1_000_000).wait()
        time.sleep(1)
        rack.always(CIRCUIT)
        Transfer(client, server, 9000).wait()
        equal(info(client)["path"][CIRCUIT]["cwnd"], window, "window")
        return f"{window} packets"


def case_books_balance() -> str:
    """Over many changes each segment is credited once: what both networks delivered is what was sent."""
    with Rack() as rack:
        client, server = rack.connect()
        with rack.turns(*WEEK, night=20 * US):
            size = 100_000_000
            seconds = Transfer(client, server, size).wait()
        time.sleep(0.1)
        seen = info(client)
        empty(seen)
        mss = client.getsockopt(socket.SOL_TCP, socket.TCP_MAXSEG)
        delivered = sum(p["delivered"] for p in seen["path"])
        lost = sum(p["lost"] for p in seen["path"])
        equal(delivered >= size // mss, True, f"{delivered} packets delivered, {size // mss} sent")
        equal(delivered <= size // mss * 1.01 + 100 + lost, True, f"{delivered} of {size // mss}, {lost} lost")
        equal(seen["switches"] > 20, True, f"{seen['switches']} changes")
        # what a queue of 16 packets drops is repaired without any
        timeouts = counter("h0", "TcpExt", "TCPTimeouts")
        equal(timeouts, 0, "timeouts")
        rate = size * 8 / seconds / 1e9
        return f"{rate:.2f} Gb/s, {[p['delivered'] for p in seen['path']]}, {lost} lost, {timeouts} timeouts"


def case_both_directions() -> str:
    """Both ends send at once, and both have states of their own."""
    with Rack() as rack:
        client, server = rack.connect()
        with rack.turns(*WEEK, night=20 * US):
            one, other = Transfer(client, server, 20_000_000), Transfer(server, client, 20_000_000)
            one.wait()
            other.wait()
        time.sleep(0.1)
        for end in (client, server):
            empty(info(end))
        return ""


def case_another_congestion_control_in_one_network() -> str:
    """The socket option sets it for one network, also before that was ever active; others keep theirs."""
    with Rack() as rack:
        client, server = rack.connect(cc="cubic")
        client.setsockopt(socket.SOL_TCP, TCP_TDTCP_CONGESTION, struct.pack("B16s", CIRCUIT, b"bbr"))
        with rack.turns(*WEEK, night=20 * US):
            Transfer(client, server, 20_000_000).wait()
        equal([p["ca"] for p in info(client)["path"]], ["cubic", "bbr"], "congestion controls")
        for value, errno in ((struct.pack("B16s", 2, b"reno"), 22), (struct.pack("B16s", 0, b"nosuch"), 2)):
            try:
                client.setsockopt(socket.SOL_TCP, TCP_TDTCP_CONGESTION, value)
            except OSError as error:
                equal(error.errno, errno, f"error of {value!r}")
            else:
                raise AssertionError(f"took {value!r}")
        client.setsockopt(socket.SOL_TCP, socket.TCP_CONGESTION, b"reno")
        equal([p["ca"] for p in info(client)["path"]], ["reno", "reno"], "all at once")
        return ""


def case_syn_is_in_network_0() -> str:
    """A connection made while network 1 is active counts its SYN in network 0, and nothing stays there."""
    with Rack() as rack:
        rack.always(CIRCUIT)
        client, server = rack.connect()
        equal(info(client)["path"][0]["packets_out"], 0, "packets out after the handshake")
        Transfer(client, server, 1_000_000).wait()
        time.sleep(0.1)
        seen = info(client)
        empty(seen)
        equal(seen["active"], CIRCUIT, "active network")
        equal(seen["path"][0]["delivered"], 1, "delivered in network 0: the SYN")
        return ""


def networks_in_sock_diag(host: str) -> dict[int, bytes]:
    """Return struct tcp_td_info of the TCP sockets in a host that sock_diag gives one for, by their local port."""
    with inside(host):
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)
    extensions = 1 << (INET_DIAG_INFO - 1)  # attributes of a protocol's own come with tcp_info
    request = struct.pack("<BBBBI48s", socket.AF_INET, socket.IPPROTO_TCP, extensions, 0, 0xFFFFFFFF, b"")
    sock.send(struct.pack("<IHHII", 16 + len(request), 20, 0x301, 1, 0) + request)
    networks: dict[int, bytes] = {}
    while True:
        answer, at = sock.recv(1 << 20), 0
        while at < len(answer):
            length, kind = struct.unpack_from("<IH", answer, at)
            if kind == 3:  # NLMSG_DONE
                sock.close()
                return networks
            (port,) = struct.unpack_from(">H", answer, at + 16 + 4)
            attribute = at + 16 + 72
            while attribute < at + length:
                size, which = struct.unpack_from("<HH", answer, attribute)
                if which == INET_DIAG_TDTCP:
                    networks[port] = answer[attribute + 4 : attribute + size]
                attribute += (size + 3) & ~3
            at += (length + 3) & ~3


def case_sock_diag_shows_networks_of_tdtcp_alone() -> str:
    """A connection that is plain TCP has no attribute; that of another says how long an entry is."""
    with Rack() as rack:
        client, server = rack.connect(port=5001)
        plain, other = rack.connect(port=5002)
        plain.setsockopt(socket.SOL_TCP, TCP_TDTCP, 0)
        Transfer(client, server, 100_000).wait()
        Transfer(plain, other, 100_000).wait()
        seen = networks_in_sock_diag("h0")
        equal(list(seen), [client.getsockname()[1]], "ports with the attribute")
        count, active, stride = struct.unpack_from("<BBH", *seen.values())
        equal((count, active), (2, PACKET), "networks and the active one")
        equal(len(*seen.values()), 12 + 2 * stride, "length of the attribute")
        return f"{stride} B a network"


def case_push() -> str:
    """With push a connection that waits for nothing notices the change at once; with pull when it sends next."""
    for push in (0, 1):
        with Rack(tcp_tdtcp_push=push) as rack:
            client, server = rack.connect()
            Transfer(client, server, 100_000).wait()
            time.sleep(0.1)
            rack.tell(CIRCUIT)
            time.sleep(US / 1e9)  # a worker tells
            equal(info(client)["active"], CIRCUIT if push else PACKET, f"active network, push {push}")
            Transfer(client, server, 100_000).wait()
            equal(info(client)["active"], CIRCUIT, f"active network after sending, push {push}")
    return ""


def case_pacing_spreads_the_burst() -> str:
    """The window of a network that comes back leaves at once, or over a round-trip time if it is paced."""
    spread = []
    for pace in (0, 1):
        with Rack(tcp_tdtcp_pace=pace, tcp_tdtcp_push=1, voq=64) as rack:
            client, server = rack.connect()
            rack.always(CIRCUIT)
            Transfer(client, server, 10_000_000).wait()
            rack.always(PACKET)
            transfer = Transfer(client, server, 30_000_000)
            until(time.monotonic_ns() + 2 * MS)
            rack.always(CIRCUIT)
            with Trace("ocs_enqueue") as rows:
                begin = time.monotonic_ns()
                rack.always(PACKET)
            transfer.wait()
            # the most that reaches the switch within 2 us, a fraction of a round trip, of the first ms
            times = [r["t"] for r in rows if r["cls"] == 0 and begin < r["t"] < begin + MS]
            spread.append(max(sum(t <= u < t + 2 * US for u in times) for t in times))
    equal(spread[1] < spread[0] / 2, True, f"packets at once without and with pacing: {spread}")
    return f"packets at once without and with pacing: {spread}"


if __name__ == "__main__":
    main(globals())
