// SPDX-License-Identifier: Apache-2.0
/* Headers on the wire, and what the parts tell each other about a packet. */

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_TICK = 0x88b5;     // IEEE 802 local experimental EtherType 1: from the local manager
const bit<16> TYPE_REPORT = 0x88b6;   // local experimental EtherType 2: back to it
const bit<8> PROTO_ICMP = 1;
const bit<8> PROTO_TCP = 6;
const bit<8> PROTO_UDP = 17;

typedef bit<9> port_t;
typedef bit<16> class_t;
typedef bit<48> instant_t;            // us since the switch started, as BMv2's timestamps are

const port_t PORT_CPU = 255;
const port_t PORT_DARK = 254;         // no light behind it: where nobody watches it, a packet ends here
const class_t CLASS_BYPASS = 0;
const bit<32> CLASSES = 1025;
const bit<32> PORTS = 512;

const bit<8> WAY_BYPASS = 0;          // straight to the port of the destination
const bit<8> WAY_LINK = 1;            // into meta.port
const bit<8> WAY_DARK = 2;            // no circuit

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

/* Follows Ethernet with TYPE_TICK or TYPE_REPORT. A tick asks with the class alone; a report has all of it. */
header tick_t {
    class_t class;
    bit<16> slot;
    bit<8>  way;
    bit<8>  tdn;
    bit<16> port;
    instant_t instant;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> length;
    bit<16> identification;
    bit<3>  flags;
    bit<13> offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

/* The first four bytes of TCP and of UDP. */
header ports_t {
    bit<16> src;
    bit<16> dst;
}

/* A TDN change notification: ICMP type 7, code 0 (see shared facts on TDTCP in p4/README.md). */
header notification_t {
    bit<8>  type;
    bit<8>  code;
    bit<16> checksum;
    bit<8>  tdn;
    bit<24> zero;
}

struct headers_t {
    ethernet_t     ethernet;
    tick_t         tick;
    ipv4_t         ipv4;
    ports_t        ports;
    notification_t notification;
}

struct metadata_t {
    class_t class;
    bit<16> slot;      // of the class' timetable
    bit<8>  way;       // WAY_*
    port_t  port;      // where WAY_LINK leads
    bit<8>  tdn;       // time-division network that the slot belongs to
    bit<4>  version;   // of the class' rule, see parts/version.p4
}
