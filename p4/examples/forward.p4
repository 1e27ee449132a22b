// SPDX-License-Identifier: Apache-2.0
/*
 * An IPv4 router that marks packets by the depth of a queue, for v1model (BMv2's simple_switch).
 *
 *     ingress:  the longest prefix of the destination gives the next MAC address and the port; TTL - 1
 *     egress:   ECN-capable packets that find `threshold` packets or more in the port's queue are marked
 *
 * It is what the first exercises of P4's tutorials do. The entries of a network of three switches are in triangle.yaml.
 */
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;            // words of 4 bytes
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> length;
    bit<16> identification;
    bit<16> fragment;       // flags and offset
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t {}

parser ForwardParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control ForwardIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }
    action forward(bit<48> mac, bit<9> port) {
        standard.egress_spec = port;
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        size = 1024;
    }
    apply {
        routes.apply();     // a frame that is not IPv4 has the destination 0, which no route has
    }
}

control ForwardEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<19>>(1) threshold;     // packets; 0: nothing is marked

    apply {
        bit<19> most;
        threshold.read(most, 0);
        if (most != 0 && standard.enq_qdepth >= most && (hdr.ipv4.ecn == 1 || hdr.ipv4.ecn == 2)) {
            hdr.ipv4.ecn = 3;
        }
    }
}

control ForwardVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ForwardComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(
            hdr.ipv4.isValid(),
            {
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length, hdr.ipv4.identification,
                hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst
            },
            hdr.ipv4.checksum,
            HashAlgorithm.csum16
        );
    }
}

control ForwardDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(ForwardParser(), ForwardVerifyChecksum(), ForwardIngress(), ForwardEgress(), ForwardComputeChecksum(),
         ForwardDeparser()) main;
