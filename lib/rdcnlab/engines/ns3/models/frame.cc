// SPDX-License-Identifier: GPL-2.0-only
#include "frame.h"

#include "ns3/ipv4-header.h"

namespace rdcnlab
{

namespace
{

constexpr uint8_t TCP = 6;
constexpr uint8_t UDP = 17;

uint32_t
Word(const uint8_t* bytes)
{
    return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 | uint32_t(bytes[2]) << 8 | bytes[3];
}

} // namespace

Frame*
Frame::Of(ns3::Ptr<ns3::Packet> packet)
{
    auto frame = new Frame;
    uint8_t head[64];
    const uint32_t got = packet->CopyData(head, sizeof(head));

    frame->packet = packet;
    frame->length = packet->GetSize() + ETHERNET_HEADER;
    if (got < 20)
    {
        return frame;
    }
    const uint32_t header = (head[0] & 15) * 4;
    frame->ecn = head[1] & 3;
    frame->version = head[8] / VERSIONS;
    frame->protocol = head[9];
    frame->source = Word(head + 12);
    frame->destination = Word(head + 16);
    // a fragment other than the first has no ports
    const bool whole = !((head[6] & 0x1f) | head[7]);
    if ((frame->protocol == TCP || frame->protocol == UDP) && whole && got >= header + 4)
    {
        const uint32_t ports = Word(head + header);
        frame->sport = ports >> 16;
        frame->dport = ports & 0xffff;
    }
    return frame;
}

void
Frame::Raise(uint8_t to)
{
    // without a version of any switch, a packet is not older than version 8: versions wrap around
    if (!packet || (versioned && !Newer(to, version)))
    {
        return;
    }
    versioned = true;
    ns3::Ipv4Header header;
    packet->RemoveHeader(header);
    header.SetTtl(to * VERSIONS + header.GetTtl() % VERSIONS);
    packet->AddHeader(header);
    version = to;
}

bool
Frame::Mark()
{
    if (ecn == CE || ecn == NOT_ECT)
    {
        return false;
    }
    if (packet)
    {
        ns3::Ipv4Header header;
        packet->RemoveHeader(header);
        header.SetEcn(ns3::Ipv4Header::ECN_CE);
        packet->AddHeader(header);
    }
    ecn = CE;
    return true;
}

} // namespace rdcnlab
