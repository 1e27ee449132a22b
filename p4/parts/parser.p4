// SPDX-License-Identifier: Apache-2.0
/* Ethernet, then IPv4 without options and the ports of TCP or UDP, or a tick. All else is forwarded as it is. */

parser OcsParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type, standard.ingress_port) {
            (TYPE_IPV4, _): first_byte;
            (TYPE_TICK, PORT_CPU): parse_tick;
            default: accept;
        }
    }
    state parse_tick {
        packet.extract(hdr.tick);
        transition accept;
    }
    state first_byte {
        // a header with options has its checksum over more than we parse, so it is left alone
        transition select(packet.lookahead<bit<8>>()) {
            0x45: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        // only the first fragment has ports
        transition select(hdr.ipv4.offset, hdr.ipv4.protocol) {
            (0, PROTO_TCP): parse_ports;
            (0, PROTO_UDP): parse_ports;
            default: accept;
        }
    }
    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control OcsDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.tick);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
        packet.emit(hdr.notification);
    }
}
