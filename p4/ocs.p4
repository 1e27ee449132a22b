// SPDX-License-Identifier: Apache-2.0
/*
 * An optical circuit switch in the data plane, for v1model (BMv2's simple_switch).
 *
 *     from a host:  classify -> circuit or timetable -> link | dark | bypass -> mark, stamp
 *     from a link:  deliver to the port of the destination's MAC address
 *     from the CPU port:  a tick, which has the switch say where a class' circuit leads now
 *
 * Each part is a control of its own in parts/, with the tables and registers it needs; p4/README.md lists them.
 */
#include <core.p4>
#include <v1model.p4>

#include "parts/headers.p4"
#include "parts/parser.p4"
#include "parts/classify.p4"
#include "parts/timetable.p4"
#include "parts/mark.p4"
#include "parts/version.p4"
#include "parts/stamp.p4"
#include "parts/notify.p4"
#include "parts/deliver.p4"
#include "parts/checksum.p4"

control OcsIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Classify() classify;
    Timetable() timetable;
    Version() version;
    Mark() mark;
    Deliver() deliver;
    Notify() notify;

    apply {
        meta.way = WAY_BYPASS;
        if (hdr.tick.isValid()) {
            meta.class = hdr.tick.class;
        } else {
            classify.apply(hdr, meta, standard);
        }
        if (meta.class != CLASS_BYPASS) {
            timetable.apply(meta, standard);
        }
        if (hdr.tick.isValid()) {
            notify.apply(hdr, meta, standard);
        } else if (meta.way == WAY_DARK) {
            standard.egress_spec = PORT_DARK;
        } else if (meta.way == WAY_LINK) {
            standard.egress_spec = meta.port;
            version.apply(hdr, meta);
            mark.apply(hdr, meta, standard);
        } else {
            deliver.apply(hdr, standard);
        }
    }
}

control OcsEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Stamp() stamp;
    Report() report;

    apply {
        if (hdr.tick.isValid()) {
            report.apply(hdr, meta, standard);
        } else {
            stamp.apply(hdr, standard);
        }
    }
}

V1Switch(OcsParser(), OcsVerifyChecksum(), OcsIngress(), OcsEgress(), OcsComputeChecksum(), OcsDeparser()) main;
