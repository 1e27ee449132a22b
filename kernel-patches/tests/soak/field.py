# SPDX-License-Identifier: Apache-2.0
"""The network of a case: two hosts, the circuit switch, and all that happens to them while the connections last.

         ns h0                  root namespace                     ns h1
    +------------+        +------------------------+          +------------+
    | eth0       |--------| p0                  p1 |----------|       eth0 |
    | (eth1 ...) |--------| p0x1      ocs0    p1x1 |----------| (eth1 ...) |    one more for each network, for MPTCP
    +------------+        +------------------------+          +------------+

What comes in at interface k of host i is class 2 k + i; network n is link 2 n + i in that direction.  With one
interface a class goes through all networks in turn, with several class 2 k + i has network k only.
"""

import contextlib
import socket
import struct
import threading
from pathlib import Path

from draw import DARK, MS
from lab import Net, inside, sh, until
from ocs import BYPASS, NO_CLASS, NONE, slot

ICMP_TDN = 7
AMPLE = {"limit_packets": 0, "limit_bytes": 0, "ecn": NONE, "red_max": 0, "red_prob": 0, "pool": NONE}


class Field:
    """The network, up and changing from `start` on until `calm`; gone at the end of the block."""

    def __init__(self, case: dict) -> None:
        self.case = case
        self.count = len(case["networks"])
        self.paths = self.count if case["kind"] == "mptcp" else 1
        self.net = Net(2, mtu=case["mtu"], offload=case["offload"])
        self.ocs = self.net.ocs
        for k in range(1, self.paths):
            for host in range(2):
                self._interface(host, k)
        for host in range(2):
            for name, value in {"tcp_fin_timeout": 5, **case["sysctls"][host]}.items():
                self.sysctl(host, name, value)
            if self.paths > 1:
                self._mptcp(host)
        for host, own in enumerate(case["hosts"] or ()):
            for k in range(self.paths):
                self._card(host, k, own)
        for name, value in case.get("nuftcp", {}).items():
            Path(f"/sys/module/tcp_nuftcp/parameters/{name}").write_text(f"{value}\n")
        pool = case["pool"]
        with self.ocs as ocs:
            if pool:
                ocs.pool_set(0, pool)
            for n, network in enumerate(case["networks"]):
                self.network(n, network)
            self.timetable(case["slots"])
            for k in range(self.paths):
                for host in range(2):
                    voq = {**case["voq"][host], "pool": 0 if pool else NONE}
                    ocs.class_set(2 * k + host, voq=voq)
                    ocs.rule_add(2 * k + host, in_if=port(host, k))
            for host, versions in enumerate(case.get("versions", ())):
                ocs.class_set(host, versions=versions)
            for host in range(2):
                self.notify(host, case["notify"][host])
                if case["echo"]:
                    ocs.class_set(host, echo={"class": 1 - host, **case["echo"]})
        self.trouble: list[str] = []
        self.over = threading.Event()

    def __enter__(self) -> "Field":
        return self

    def __exit__(self, *_: object) -> None:
        self.net.__exit__()
        gone = [port(host, k) for host in range(2) for k in range(1, self.paths)]
        sh(*[f"ip link del {name} || true" for name in gone])

    def _interface(self, host: int, k: int) -> None:
        """Give a host one more interface."""
        name, dev, mtu = port(host, k), f"eth{k}", self.case["mtu"]
        off = "tso off gso off gro off tx off rx off sg off"
        sh(
            f"ip link add {name} mtu {mtu} type veth peer name {dev} netns h{host} mtu {mtu} address {mac(host, k)}",
            f"ip -n h{host} addr add 10.0.{k}.{host + 1}/24 dev {dev}",
            f"sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1",
            f"ip -n h{host} link set {dev} up",
            f"ip -n h{host} neigh add 10.0.{k}.{2 - host} dev {dev} lladdr {mac(1 - host, k)}",
            f"ip link set {name} master ocs0 up",
            *([] if self.case["offload"] else [f"ethtool -K {name} {off}"]),
            *([] if self.case["offload"] else [f"ip netns exec h{host} ethtool -K {dev} {off}"]),
        )
        self.ocs.fdb_set(mac(host, k), name)

    def _card(self, host: int, k: int, own: dict) -> None:
        """Give an interface of a host the offloads and the queueing discipline that were drawn for it."""
        dev, card, fq = f"eth{k}", own["card"], own["fq"]
        at = f"/sys/class/net/{dev}"
        longest = f"gso_max_size {card['tso']}" if card["tso"] else "gso_max_segs 1"
        sh(
            f"ip -n h{host} link set {dev} {longest}",
            f"ip netns exec h{host} ethtool -K {dev} gro {'on' if card['gro'] else 'off'}",
            # veth merges nothing that comes from an end with TSO, which could send it whole
            *([f"ethtool -K {port(host, k)} tso off"] if card["gro"] else []),
            f"ip netns exec h{host} sh -c 'echo {card['coalesce']} > {at}/gro_flush_timeout'",
            f"ip netns exec h{host} sh -c 'echo {int(card['coalesce'] > 0)} > {at}/napi_defer_hard_irqs'",
            *([f"ip netns exec h{host} ethtool -C {dev} rx-frames {card['frames']}"] if card["frames"] else []),
        )
        if fq is not None:
            options = " ".join(f"{name} {value}" for name, value in fq.items())
            sh(f"tc -n h{host} qdisc replace dev {dev} root fq {options}")

    def _mptcp(self, host: int) -> None:
        """Let connections have a subflow on each interface, network k's on interface k."""
        sh(
            f"ip netns exec h{host} sysctl -qw net.mptcp.scheduler=tdm",
            f"ip -n h{host} mptcp limits set subflow {self.paths - 1} add_addr_accepted {self.paths - 1}",
            *(f"ip -n h{host} mptcp endpoint add 10.0.{k}.{host + 1} signal" for k in range(1, self.paths)),
        )

    # -- what changes

    def sysctl(self, host: int, name: str, value: object) -> None:
        """Set net.ipv4.NAME in a host."""
        with inside(f"h{host}"):
            Path(f"/proc/sys/net/ipv4/{name}").write_text(f"{value}\n")

    def network(self, n: int, to: dict) -> None:
        """Set rate, delay and queues of a network, both ways."""
        with self.ocs as ocs:
            for way in range(2):
                pool = 0 if self.case["pool"] else NONE
                ocs.link_set(2 * n + way, rate=to["rate"], delay=to["delay"], queue={**to["queues"][way], "pool": pool})

    def timetable(self, slots: list[list[int]]) -> None:
        """Set the timetable of all classes; they go on with it at once."""
        with self.ocs as ocs:
            for k in range(self.paths):
                for host in range(2):
                    table = []
                    for duration, network, tdn in slots:
                        there = network != DARK and (self.paths == 1 or network == k)
                        table.append(slot(duration, 2 * network + host if there else DARK, tdn=tdn))
                    ocs.class_set(2 * k + host, table, hold=self.case["hold"][host])

    def notify(self, host: int, to: dict | None) -> None:
        """Set how a host is told."""
        told = {"class": host, "dst": f"10.0.0.{host + 1}", "inband": self.case["inband"][host], **(to or {})}
        if not to:
            told = {"class": NO_CLASS}
        if to or "notify" in self.ocs.stats()["ports"][f"p{host}"]:
            self.ocs.port_set(f"p{host}", notify=told)

    def icmp(self, host: int, tdn: int, cut: int, flip: int) -> None:
        """Send a host a message from the other one: right, or cut short, or with a wrong word.

        Some are about the other host alone, and some say that they came through a router.
        """
        length = (0, 0, 32, 31, 8, 33)[tdn % 6]
        body = bytearray(message(tdn, length, 0x0A000002 - host & -1 << max(32 - length, 0) & 0xFFFFFFFF))
        if flip:
            body[(1, 5, 7)[flip - 1]] ^= 1
            body[2:4] = bytes(2)
            struct.pack_into(">H", body, 2, checksum(body))
        with inside(f"h{1 - host}"):
            sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        sock.setsockopt(socket.SOL_IP, socket.IP_TTL, 64 if tdn % 16 == 7 else 255)
        with sock, contextlib.suppress(OSError):  # no carrier just now
            sock.sendto(body[: len(body) - cut], (f"10.0.0.{host + 1}", 0))

    def forge(self, host: int, tdn: int, prefixes: int, ttl: int) -> None:
        """Send the other host messages with the switch's source address, for all destinations or for each prefix."""
        head = bytearray(struct.pack(">BBHHHBBH", 0x45, 0, 32 if prefixes else 28, 0, 0x4000, ttl, 1, 0))
        head += socket.inet_aton("192.0.0.8") + socket.inet_aton(f"10.0.0.{2 - host}")
        struct.pack_into(">H", head, 10, checksum(head))
        ethernet = bytes.fromhex(mac(1 - host, 0).replace(":", "") + mac(host, 0).replace(":", "") + "0800")
        with inside(f"h{host}"):
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            sock.bind(("eth0", 0))
        with sock, contextlib.suppress(OSError):  # no carrier just now
            for n in range(max(prefixes, 1)):
                body = message(tdn, 32, 0x0A010000 + n) if prefixes else message(tdn)
                sock.send(ethernet + head + body)

    def tell(self, host: int, tdn: int) -> None:
        """Tell a host by hand; it refuses a network that it does not know."""
        with contextlib.suppress(OSError):
            self.sysctl(host, "tdn_current", tdn)

    def down(self, host: int, lasts: int) -> None:
        """Pull the plug for a time."""
        sh(f"ip link set p{host} down")
        self.over.wait(lasts / 1e9)
        sh(f"ip link set p{host} up")

    def look(self) -> None:
        """Read all that can be read of sockets and switch."""
        for host in range(2):
            sh(f"ip netns exec h{host} ss -ntaiemoM", f"ip netns exec h{host} ss -ntaiemo")
        self.ocs.stats()

    # -- the course of a case

    def start(self, epoch: int, flows: list) -> None:
        """Begin the timetable, and let the events of the case happen."""
        self.epoch = epoch
        self.ocs.start(epoch)
        self.thread = threading.Thread(target=self._events, args=(flows,), daemon=True)
        self.thread.start()

    def _events(self, flows: list) -> None:
        for at, _, what, values in self.case["events"]:
            until(self.epoch + at)
            try:
                self._event(what, dict(values), flows)
            except Exception as error:  # noqa: BLE001  whatever it is, the case fails with it
                self.trouble.append(f"event {what} {values}: {type(error).__name__}: {error}")

    def _event(self, what: str, values: dict, flows: list) -> None:
        if what == "control":
            flows[values["flow"]].control(values["end"], values["tdn"], values["name"])
        elif what == "link":
            self.network(values["network"], values["to"])
        elif what == "down":
            self.down(values["host"], values["for"])
        elif what == "again":
            self.ocs.start(self.epoch)
        else:
            getattr(self, what)(**values)

    def calm(self) -> None:
        """From now on all can get through: each network has its turn, nothing is dropped, everyone is told at once."""
        until(self.epoch + self.case["lasts"])
        self.thread.join()
        with self.ocs as ocs:
            for k in range(self.paths):
                for host in range(2):
                    table = [slot(20 * MS, BYPASS, tdn=n) for n in range(self.count)]
                    ocs.class_set(2 * k + host, table, hold=True, voq=AMPLE)
            for host in range(2):
                self.notify(host, {"delay": 0})

    def rest(self) -> None:
        """End the timetable: a sleep of minutes would go through all of its slots."""
        with self.ocs as ocs:
            for number in range(2 * self.paths):
                ocs.class_set(number, [slot(0, BYPASS)])


def checksum(data: bytes) -> int:
    """Return the Internet checksum of an even number of bytes."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def message(tdn: int, length: int = 0, prefix: int = 0) -> bytes:
    """Return a notification: of all destinations, or of those of a prefix of some length."""
    body = bytearray(struct.pack(">BBHBBBB", ICMP_TDN, 0, 0, tdn, length, 0, 0))
    if length:
        body += prefix.to_bytes(4, "big")
    struct.pack_into(">H", body, 2, checksum(body))
    return bytes(body)


def port(host: int, k: int) -> str:
    """Name of the switch's port of an interface."""
    return f"p{host}x{k}" if k else f"p{host}"


def mac(host: int, k: int) -> str:
    """Address of an interface."""
    return f"02:00:00:00:{k:02x}:{host + 1:02x}"
