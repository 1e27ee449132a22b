// SPDX-License-Identifier: GPL-2.0-only
#include "host.h"

#include "ns3/channel.h"
#include "ns3/node.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace rdcnlab
{

namespace
{

constexpr uint16_t IPV4 = 0x0800;

} // namespace

ns3::TypeId
Card::GetTypeId()
{
    static ns3::TypeId tid = ns3::TypeId("rdcnlab::Card").SetParent<ns3::NetDevice>().AddConstructor<Card>();
    return tid;
}

void
Card::SetLine(uint64_t rate, uint32_t overhead, Nanoseconds depth, uint64_t limit, bool packets, uint64_t memory)
{
    m_packets = packets;
    m_memory = memory;
    m_rate = rate;
    m_overhead = overhead;
    m_depth = m_tokens = depth;
    m_limit = limit;
}

void
Card::SetExit(std::function<void(Frame*)> exit)
{
    m_exit = std::move(exit);
}

void
Card::Deliver(Frame* frame)
{
    const ns3::Ptr<ns3::Packet> packet = frame->packet;
    const uint16_t dport = frame->dport;
    const uint8_t version = frame->version;
    delete frame;
    // the line to the host belongs to its node, unless the frame took no time and comes in another node's event
    if (ns3::Simulator::GetContext() == m_node->GetId())
    {
        Accept(packet, dport, version);
    }
    else
    {
        ns3::Simulator::ScheduleWithContext(m_node->GetId(), ns3::Time(0), &Card::Accept, this, packet, dport, version);
    }
}

void
Card::Accept(ns3::Ptr<ns3::Packet> packet, uint16_t dport, uint8_t version)
{
    const auto listener = m_listeners.find(dport);
    if (listener != m_listeners.end())
    {
        listener->second(version);
    }
    m_receive(this, packet, IPV4, m_address);
}

void
Card::Watch(uint16_t dport, std::function<void()> left)
{
    m_senders[dport].left = std::move(left);
}

void
Card::Listen(uint16_t dport, std::function<void(uint8_t)> arrives)
{
    m_listeners[dport] = std::move(arrives);
}

uint64_t
Card::Waiting(uint16_t dport) const
{
    const auto sender = m_senders.find(dport);
    return sender == m_senders.end() ? 0 : sender->second.waiting;
}

Nanoseconds
Card::Cost(const Frame& frame) const
{
    return uint64_t(frame.length + m_overhead) * 8 * 1'000'000'000 / m_rate;
}

bool
Card::Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address&, uint16_t)
{
    Frame* frame = Frame::Of(packet);
    if (IsFull(*frame))
    {
        m_lost++;
        delete frame;
        return false;
    }
    m_bytes += frame->length;
    const auto sender = m_senders.find(frame->dport);
    if (sender != m_senders.end())
    {
        sender->second.waiting += frame->length;
    }
    m_queue.push_back(frame);
    if (m_depth)
    {
        Serve();
    }
    else if (!m_sent)
    {
        // a line that stood idle is free from now on
        m_end = ns3::Simulator::Now().GetNanoSeconds();
        m_early = 0;
        Begin();
    }
    return true;
}

/** Whether the queue has no room. The first frames behind the one on the line are in the card, as far as they fit. */
bool
Card::IsFull(const Frame& frame) const
{
    if (m_depth)
    {
        return m_bytes + frame.length > m_limit;
    }
    if (!m_sent)
    {
        return false;
    }
    uint64_t memory = 0;
    uint64_t packets = m_queue.size();
    uint64_t bytes = m_bytes - m_sent->length;
    const uint64_t longest = m_mtu + 14 + m_overhead;
    for (auto next = m_queue.begin(); next != m_queue.end() && memory + longest <= m_memory; ++next)
    {
        memory += (*next)->length + m_overhead;
        bytes -= (*next)->length;
        packets--;
    }
    if (memory + longest <= m_memory)
    {
        return false;
    }
    return m_packets ? packets + 1 > m_limit : bytes + frame.length > m_limit;
}

/** Put the next frame on the line, when the one before it has ended. */
void
Card::Begin()
{
    m_sent = m_queue.front();
    m_queue.pop_front();
    const uint64_t work = uint64_t(m_sent->length + m_overhead) * 8 * 1'000'000'000;
    if (work <= m_early)
    {
        m_early -= work; // within the same ns
    }
    else
    {
        const uint64_t left = work - m_early;
        m_end += (left + m_rate - 1) / m_rate;
        m_early = (m_rate - left % m_rate) % m_rate;
    }
    const Nanoseconds now = ns3::Simulator::Now().GetNanoSeconds();
    m_timer = ns3::Simulator::Schedule(ns3::NanoSeconds(m_end - now), &Card::End, this);
}

void
Card::End()
{
    Frame* frame = m_sent;
    m_sent = nullptr;
    if (!m_queue.empty())
    {
        Begin();
    }
    Leave(frame);
}

/** A frame leaves the host, and its sender is told. */
void
Card::Leave(Frame* frame)
{
    m_bytes -= frame->length;
    const auto sender = m_senders.find(frame->dport);
    if (sender != m_senders.end())
    {
        sender->second.waiting -= frame->length;
    }
    m_exit(frame);
    if (sender != m_senders.end() && sender->second.left)
    {
        sender->second.left();
    }
}

/** Send what the bucket has tokens for, as tbf does: tokens are counted when a frame is to leave. */
void
Card::Serve()
{
    // a frame that leaves can make its sender send the next one before this function returns
    if (m_serving)
    {
        return;
    }
    m_serving = true;
    while (!m_queue.empty())
    {
        const Nanoseconds now = ns3::Simulator::Now().GetNanoSeconds();
        Frame* frame = m_queue.front();
        const Nanoseconds tokens = std::min(m_tokens + std::min(now - m_counted, m_depth), m_depth) - Cost(*frame);
        if (tokens < 0)
        {
            if (!m_timer.IsPending())
            {
                m_timer = ns3::Simulator::Schedule(ns3::NanoSeconds(-tokens), &Card::Serve, this);
            }
            break;
        }
        m_counted = now;
        m_tokens = tokens;
        m_queue.pop_front();
        Leave(frame);
    }
    m_serving = false;
}

void
Card::DoDispose()
{
    m_timer.Cancel();
    delete m_sent;
    m_sent = nullptr;
    for (Frame* frame : m_queue)
    {
        delete frame;
    }
    m_queue.clear();
    m_senders.clear();
    m_listeners.clear();
    m_exit = nullptr;
    m_receive = ReceiveCallback();
    m_node = nullptr;
    ns3::NetDevice::DoDispose();
}

// What ns-3 asks of every device ---------------------------------------------------------------------------------------

void
Card::SetIfIndex(const uint32_t index)
{
    m_index = index;
}

uint32_t
Card::GetIfIndex() const
{
    return m_index;
}

ns3::Ptr<ns3::Channel>
Card::GetChannel() const
{
    return nullptr;
}

void
Card::SetAddress(ns3::Address address)
{
    m_address = ns3::Mac48Address::ConvertFrom(address);
}

ns3::Address
Card::GetAddress() const
{
    return m_address;
}

bool
Card::SetMtu(const uint16_t mtu)
{
    m_mtu = mtu;
    return true;
}

uint16_t
Card::GetMtu() const
{
    return m_mtu;
}

bool
Card::IsLinkUp() const
{
    return true;
}

void
Card::AddLinkChangeCallback(ns3::Callback<void>)
{
}

bool
Card::IsBroadcast() const
{
    return true;
}

ns3::Address
Card::GetBroadcast() const
{
    return ns3::Mac48Address::GetBroadcast();
}

bool
Card::IsMulticast() const
{
    return false;
}

ns3::Address
Card::GetMulticast(ns3::Ipv4Address group) const
{
    return ns3::Mac48Address::GetMulticast(group);
}

ns3::Address
Card::GetMulticast(ns3::Ipv6Address address) const
{
    return ns3::Mac48Address::GetMulticast(address);
}

bool
Card::IsBridge() const
{
    return false;
}

bool
Card::IsPointToPoint() const
{
    return false;
}

bool
Card::SendFrom(ns3::Ptr<ns3::Packet> packet, const ns3::Address&, const ns3::Address& to, uint16_t protocol)
{
    return Send(packet, to, protocol);
}

ns3::Ptr<ns3::Node>
Card::GetNode() const
{
    return m_node;
}

void
Card::SetNode(ns3::Ptr<ns3::Node> node)
{
    m_node = node;
}

bool
Card::NeedsArp() const
{
    return false; // as on the kernel engine, whose hosts know all addresses
}

void
Card::SetReceiveCallback(ReceiveCallback callback)
{
    m_receive = callback;
}

void
Card::SetPromiscReceiveCallback(PromiscReceiveCallback)
{
}

bool
Card::SupportsSendFrom() const
{
    return false;
}

} // namespace rdcnlab
