// SPDX-License-Identifier: Apache-2.0
/*
 * A stamp in the six upper bits of the ToS field by which a capture tells the links apart (Aykurt et al., Sec. IV-B). The
 * two bits of ECN stay.
 */

control Stamp(inout headers_t hdr, in standard_metadata_t standard) {
    action set_dscp(bit<6> dscp) {
        hdr.ipv4.dscp = dscp;
    }
    table stamps {
        key = { standard.egress_port: exact @name("port"); }
        actions = { set_dscp; NoAction; }
        default_action = NoAction();
        size = 512;
    }
    apply {
        if (hdr.ipv4.isValid()) {
            stamps.apply();
        }
    }
}
