// SPDX-License-Identifier: Apache-2.0
/* To the port of the destination's MAC address; a frame for nobody is dropped. */

control Deliver(in headers_t hdr, inout standard_metadata_t standard) {
    action to_port(port_t port) {
        standard.egress_spec = port;
    }
    action drop() {
        mark_to_drop(standard);
    }
    table macs {
        key = { hdr.ethernet.dst: exact @name("mac"); }
        actions = { to_port; drop; }
        default_action = drop();
        size = 1024;
    }
    apply {
        macs.apply();
    }
}
