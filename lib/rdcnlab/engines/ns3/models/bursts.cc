// SPDX-License-Identifier: GPL-2.0-only
#include "transfer.h"

#include "ns3/inet-socket-address.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/udp-socket-factory.h"
#include "ns3/uinteger.h"

namespace rdcnlab
{

namespace
{

/**
 * Bytes that a sender may have in its host's queue: Linux's send buffer of 212992 B counts the memory of packets, which
 * is about twice their length. Beyond it, Linux lets the sender wait. The line stays busy either way.
 */
constexpr uint64_t SEND_BUFFER = 106'496;
/** No datagram may be lost in the receiver, which the kernel engine's receiver sees to as well. */
constexpr uint32_t RECEIVE_BUFFER = 1 << 29;

} // namespace

Bursts::Bursts(const Order& order, uint32_t payload, uint32_t burst, Nanoseconds interval)
    : m_order(order),
      m_payload(payload),
      m_burst(burst),
      m_interval(interval)
{
}

void
Bursts::Begin()
{
    const auto factory = ns3::UdpSocketFactory::GetTypeId();
    m_receiver = ns3::Socket::CreateSocket(m_order.sink.node, factory);
    m_receiver->SetAttribute("RcvBufSize", ns3::UintegerValue(RECEIVE_BUFFER));
    m_receiver->Bind(ns3::InetSocketAddress(m_order.sink.address, m_order.port));
    m_receiver->SetRecvCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([this](ns3::Ptr<ns3::Socket>) { Read(); }));
    m_sender = ns3::Socket::CreateSocket(m_order.source.node, factory);
    m_sender->Bind();
    m_sender->Connect(ns3::InetSocketAddress(m_order.sink.address, m_order.port));
    m_order.source.card->Watch(m_order.port, [this]() { Send(); });
    m_result.start = m_order.start;
    const Nanoseconds now = ns3::Simulator::Now().GetNanoSeconds();
    const uint32_t source = m_order.source.node->GetId();
    ns3::Simulator::ScheduleWithContext(source, ns3::NanoSeconds(m_order.start - now), &Bursts::Burst, this);
}

/** The instant of a burst. If the one before is not over, its rest is added. */
void
Bursts::Burst()
{
    m_left += m_burst;
    Send();
    if (m_sent + uint64_t(m_left) * m_payload < m_order.size)
    {
        ns3::Simulator::Schedule(ns3::NanoSeconds(m_interval), &Bursts::Burst, this);
    }
}

void
Bursts::Send()
{
    while (m_left && m_sent + m_payload <= m_order.size && m_order.source.card->Waiting(m_order.port) < SEND_BUFFER)
    {
        m_left--;
        m_sent += m_payload;
        m_sender->Send(ns3::Create<ns3::Packet>(m_payload), 0);
    }
}

void
Bursts::Read()
{
    while (auto packet = m_receiver->Recv(~0U, 0))
    {
        m_result.received += packet->GetSize();
    }
}

Result
Bursts::Outcome() const
{
    return m_result;
}

} // namespace rdcnlab
