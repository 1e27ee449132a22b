// SPDX-License-Identifier: Apache-2.0
/*
 * What becomes of a tick: copies to a multicast group. The copy to the CPU port is a report of where the circuit leads;
 * copies to hosts become notifications of the time-division network (TDTCP): ICMP type 7 code 0 with the TDN's id.
 *
 * Data planes have no timers of their own but packet generators; the local manager plays that part and sends a tick
 * through the CPU port at each change.
 */

control Notify(inout headers_t hdr, in metadata_t meta, inout standard_metadata_t standard) {
    action to_group(bit<16> group) {
        standard.mcast_grp = group;
    }
    table racks {
        key = { meta.class: exact @name("class"); }
        actions = { to_group; }
        default_action = to_group(1);
        size = 1024;
    }
    apply {
        hdr.tick.slot = meta.slot;
        hdr.tick.way = meta.way;
        hdr.tick.tdn = meta.tdn;
        hdr.tick.port = 0;
        if (meta.way == WAY_LINK) {
            hdr.tick.port = (bit<16>) meta.port;
        }
        hdr.tick.instant = standard.ingress_global_timestamp;
        racks.apply();
    }
}

control Report(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action notify(bit<48> dst_mac, bit<32> dst) {
        hdr.ethernet.dst = dst_mac;
        hdr.ethernet.type = TYPE_IPV4;
        hdr.ipv4.setValid();
        hdr.ipv4.version = 4;
        hdr.ipv4.ihl = 5;
        hdr.ipv4.dscp = 0;
        hdr.ipv4.ecn = 0;
        hdr.ipv4.length = 28;
        hdr.ipv4.identification = 0;
        hdr.ipv4.flags = 0;
        hdr.ipv4.offset = 0;
        hdr.ipv4.ttl = 255;   // hosts refuse what came through a router (RFC 5082)
        hdr.ipv4.protocol = PROTO_ICMP;
        hdr.ipv4.src = 0x0afffffe;   // 10.255.255.254
        hdr.ipv4.dst = dst;
        hdr.notification.setValid();
        hdr.notification.type = 7;
        hdr.notification.code = 0;
        hdr.notification.tdn = hdr.tick.tdn;
        hdr.notification.zero = 0;
        hdr.tick.setInvalid();
    }
    action report() {
        hdr.ethernet.type = TYPE_REPORT;
    }
    table hosts {
        key = { standard.egress_port: exact @name("port"); }
        actions = { notify; report; }
        default_action = report();
        size = 512;
    }
    apply {
        hosts.apply();
    }
}
