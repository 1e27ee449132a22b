// SPDX-License-Identifier: Apache-2.0
/* Checksums of what the switch may have changed. A wrong checksum of a packet is none of its business. */

control OcsVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control OcsComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(
            hdr.ipv4.isValid(),
            {
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length,
                hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
                hdr.ipv4.src, hdr.ipv4.dst
            },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(
            hdr.notification.isValid(),
            {
                hdr.notification.type, hdr.notification.code, hdr.notification.tdn, hdr.notification.zero
            },
            hdr.notification.checksum, HashAlgorithm.csum16);
    }
}
