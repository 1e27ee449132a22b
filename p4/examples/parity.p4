// SPDX-License-Identifier: Apache-2.0
/*
 * An L2 switch that sends payload over two links in turn, for v1model (BMv2's simple_switch).
 *
 *     from a host, with payload:  to the link of the interval: `even` 0, 2, 4, ..., or `odd` 1, 3, 5, ...
 *     from a host, without (ACK): to the port of the destination's MAC address
 *     from the end of a link:     the same
 *
 * Intervals of 10 ms are counted from the scenario's start. The entries that it needs are in parity.yaml.
 */
#include <core.p4>
#include <v1model.p4>

/*
 * v1model has no division. Where the divisor d is known when the program is compiled, floor(t / d) is
 * t * (floor(2^48 / d) + 1) / 2^48, exact for t * d < 2^48: for d = 10 ms in us, the first 7 hours.
 */
const bit<96> PER_INTERVAL = (1 << 48) / 10000 + 1;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;            // words of 4 bytes
    bit<8>  tos;
    bit<16> length;         // bytes, this header included
    bit<32> identification;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header tcp_t {
    bit<96> ports_and_numbers;
    bit<4>  offset;         // words of 4 bytes up to the payload
    bit<12> flags;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    tcp_t      tcp;
}

struct metadata_t {}

parser ParityParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (5, 6): parse_tcp;
            default: accept;
        }
    }
    state parse_tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }
}

control ParityIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<48>>(1) begin;    // the scenario's start, us of the switch's clock
    bit<1> parity = 0;

    action to_port(bit<9> port) {
        standard.egress_spec = port;
    }
    action drop() {
        mark_to_drop(standard);
    }
    /* Where packets of an interval go. */
    table links {
        key = { parity: exact; }
        actions = { to_port; drop; }
        default_action = drop();
        size = 2;
    }
    /* Ports at which links end: what comes from there has had its way. */
    table ends {
        key = { standard.ingress_port: exact; }
        actions = { NoAction; }
        default_action = NoAction();
        size = 16;
    }
    table hosts {
        key = { hdr.ethernet.dst: exact; }
        actions = { to_port; drop; }
        default_action = drop();
        size = 256;
    }

    apply {
        bool payload = hdr.tcp.isValid() && hdr.ipv4.length > ((bit<16>) hdr.tcp.offset << 2) + 20;
        if (!ends.apply().hit && payload) {
            bit<48> first;
            begin.read(first, 0);
            bit<96> since = (bit<96>) (standard.ingress_global_timestamp - first);
            parity = (bit<1>) ((since * PER_INTERVAL) >> 48);
            links.apply();
        } else {
            hosts.apply();
        }
    }
}

control ParityEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control ParityVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ParityComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ParityDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(ParityParser(), ParityVerifyChecksum(), ParityIngress(), ParityEgress(), ParityComputeChecksum(),
         ParityDeparser()) main;
