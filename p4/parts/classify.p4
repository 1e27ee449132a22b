// SPDX-License-Identifier: Apache-2.0
/*
 * Which class a packet is of. What no entry takes is of class 0 and bypasses the circuits, as ACKs do: the entries of a
 * flow name its destination port and so match one direction only.
 */

control Classify(in headers_t hdr, inout metadata_t meta, in standard_metadata_t standard) {
    action set_class(class_t class) {
        meta.class = class;
    }
    table classes {
        key = {
            standard.ingress_port: ternary @name("in_port");
            hdr.ipv4.src: ternary @name("src");
            hdr.ipv4.dst: ternary @name("dst");
            hdr.ipv4.protocol: ternary @name("protocol");
            hdr.ports.src: ternary @name("sport");
            hdr.ports.dst: ternary @name("dport");
        }
        actions = { set_class; NoAction; }
        default_action = NoAction();
        size = 1024;
    }
    apply {
        meta.class = CLASS_BYPASS;
        if (hdr.ports.isValid()) {
            classes.apply();
        }
    }
}
