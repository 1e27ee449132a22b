/* SPDX-License-Identifier: GPL-2.0-only */
/* A frame on its way through the switches, with what they want to know of its headers. */
#ifndef RDCNLAB_FRAME_H
#define RDCNLAB_FRAME_H

#include "ns3/packet.h"

#include <cstdint>
#include <limits>

namespace rdcnlab
{

using Nanoseconds = int64_t;

/** An instant that never comes. */
constexpr Nanoseconds NEVER = std::numeric_limits<Nanoseconds>::max();

/** Bytes of the Ethernet header, which queues count; the packets of ns-3 begin with their IP header. */
constexpr uint32_t ETHERNET_HEADER = 14;

/** Values of the ECN field (RFC 3168). */
enum Ecn : uint8_t
{
    NOT_ECT = 0,
    ECT_1 = 1,
    ECT_0 = 2,
    CE = 3
};

constexpr uint16_t NO_CLASS = 0xffff;

/** Number of versions that 4 bits hold. */
constexpr uint8_t VERSIONS = 16;

/** Whether a version is newer than another: it is ahead by less than half of all versions, which wrap around. */
constexpr bool
Newer(uint8_t one, uint8_t other)
{
    const uint8_t ahead = (one + VERSIONS - other) % VERSIONS;
    return ahead > 0 && ahead < VERSIONS / 2;
}

struct Frame
{
    ns3::Ptr<ns3::Packet> packet; //!< from its IP header on; none in tests of a queue
    uint32_t length{0};           //!< in bytes, Ethernet header included
    uint32_t source{0};           //!< IPv4 address
    uint32_t destination{0};      //!< IPv4 address
    uint16_t sport{0};
    uint16_t dport{0};
    uint8_t protocol{0}; //!< of IP
    uint8_t ecn{NOT_ECT};
    uint8_t version{0};         //!< of the rules that sent it here: the upper 4 bits of its TTL (NUFTCP)
    bool versioned{false};      //!< whether a switch has written it
    uint16_t traffic{NO_CLASS}; //!< number of its class at the present switch
    uint16_t port{0};           //!< number of its egress port at the present switch
    Nanoseconds due{0};         //!< arrival at the end of the present link

    /** Read the headers of a packet. */
    static Frame* Of(ns3::Ptr<ns3::Packet> packet);

    /** Write a version into the packet, unless another switch has written one that is not older. */
    void Raise(uint8_t to);

    /** Set Congestion Experienced; return false if it is set already or the packet is not ECN-capable. */
    bool Mark();
};

} // namespace rdcnlab

#endif
