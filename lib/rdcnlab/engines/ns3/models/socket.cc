// SPDX-License-Identifier: GPL-2.0-only
#include "socket.h"

#include "records.h"

#include "ns3/rtt-estimator.h"
#include "ns3/simulator.h"
#include "ns3/tcp-rx-buffer.h"
#include "ns3/tcp-socket-state.h"
#include "ns3/tcp-tx-buffer.h"

#include <algorithm>

namespace rdcnlab
{

namespace
{

/** What Linux shows as the threshold before the first loss. */
constexpr int64_t NO_THRESHOLD = 0x7fffffff;

} // namespace

ns3::TypeId
Socket::GetTypeId()
{
    static ns3::TypeId tid =
        ns3::TypeId("rdcnlab::Socket").SetParent<ns3::TcpSocketBase>().AddConstructor<Socket>();
    return tid;
}

Socket::Socket(const Socket& other)
    : ns3::TcpSocketBase(other)
{
}

ns3::Ptr<ns3::TcpSocketBase>
Socket::Fork()
{
    return ns3::CopyObject<Socket>(this);
}

void
Socket::Observe(ns3::Ptr<Card> card, uint16_t port, const Pacing& pacing)
{
    m_card = card;
    m_port = port;
    m_pacing = pacing;
    m_limited = dynamic_cast<const Nuftcp*>(ns3::PeekPointer(m_congestionControl));
    card->Watch(port, [this]() { Continue(); });
}

void
Socket::Finish()
{
    // the segment that closes acknowledges too, but ns-3 does not look at that in it
    SendEmptyPacket(ns3::TcpHeader::ACK);
    ShutdownSend();
}

void
Socket::ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header)
{
    Records& records = TheRecords();

    // like Linux's tcp:tcp_probe, which shows the state that the ACK finds
    if (m_port && records.acknowledgements && packet->GetSize() == 0)
    {
        const Nanoseconds now = ns3::Simulator::Now().GetNanoSeconds() - records.start;
        const uint32_t threshold = m_tcb->m_ssThresh.Get();
        records.acks.Write({now,
                            m_port,
                            m_txBuffer->HeadSequence().GetValue(),
                            m_tcb->m_cWnd.Get() / m_tcb->m_segmentSize,
                            threshold >= NO_THRESHOLD ? NO_THRESHOLD : threshold / m_tcb->m_segmentSize,
                            m_rtt->GetEstimate().GetMicroSeconds()});
    }
    // RFC 6675 resets the count at a cumulative ACK. ns-3.44 keeps what it counted in CWR if the ACK that ends CWR has
    // SACK blocks, and then asserts that a duplicate in the open state is the first.
    if (m_tcb->m_congState == ns3::TcpSocketState::CA_CWR && header.GetAckNumber() > m_recover)
    {
        m_dupAckCount = 0;
    }
    ns3::TcpSocketBase::ReceivedAck(packet, header);
}

void
Socket::UpdateRttHistory(const ns3::SequenceNumber32& first, uint32_t size, bool again)
{
    ns3::TcpSocketBase::UpdateRttHistory(first, size, again);
    if (again && m_port)
    {
        Records& records = TheRecords();
        m_retransmits++;
        records.again.Write({ns3::Simulator::Now().GetNanoSeconds() - records.start, m_port});
    }
}

/**
 * The round-trip time of a segment that was sent once, from the clock, as Linux measures it. ns-3 would take it from
 * the timestamp, which counts milliseconds: much longer than round trips of a data centre.
 */
ns3::Time
Socket::CalculateRttSample(const ns3::TcpHeader& header, const ns3::RttHistory& segment)
{
    const bool acknowledged = header.GetAckNumber() >= segment.seq + segment.count;
    if (acknowledged && !segment.retx)
    {
        return ns3::Simulator::Now() - segment.time;
    }
    return ns3::TcpSocketBase::CalculateRttSample(header, segment);
}

void
Socket::ReTxTimeout()
{
    if (m_state == ns3::TcpSocket::SYN_SENT || m_txBuffer->Size())
    {
        m_timeouts++;
    }
    ns3::TcpSocketBase::ReTxTimeout();
}

/**
 * Bytes that the flow may have in its host's queue: what its pacing rate sends in 1.024 ms, at least two frames and at
 * most `limit_output_bytes`, as tcp_small_queue_check() of Linux 6.12.
 */
uint64_t
Socket::MostWaiting() const
{
    const uint64_t two = 2 * (m_tcb->m_segmentSize + 20 + 32 + ETHERNET_HEADER);
    const int64_t srtt = m_rtt->GetEstimate().GetNanoSeconds();
    uint64_t rate = ~0ULL; // bytes/s
    if (m_rtt->GetNSamples() == 0)
    {
        return m_pacing.most; // the estimate is a guess
    }
    if (m_tcb->m_pacing)
    {
        rate = m_tcb->m_pacingRate.Get().GetBitRate() / 8;
    }
    else
    {
        const uint64_t window = std::max(m_tcb->m_cWnd.Get(), m_tcb->m_bytesInFlight.Get());
        const bool early = m_tcb->m_cWnd.Get() < m_tcb->m_ssThresh.Get() / 2;
        const uint64_t percent = early ? m_pacing.slowStart : m_pacing.avoidance;
        rate = srtt > 0 ? window * percent * 10'000'000 / srtt : rate;
    }
    return std::min(std::max(two, rate >> 10), m_pacing.most);
}

uint32_t
Socket::AvailableWindow() const
{
    const uint32_t window = ns3::TcpSocketBase::AvailableWindow();
    if (!m_port || !window)
    {
        return window;
    }
    m_throttled = m_card->Waiting(m_port) > MostWaiting();
    return m_throttled ? 0 : window;
}

/** A frame of the flow has left the host. */
void
Socket::Continue()
{
    if (m_throttled && m_card->Waiting(m_port) <= MostWaiting())
    {
        m_throttled = false;
        SendPendingData(m_connected);
    }
}

uint32_t
Socket::Window() const
{
    const uint32_t window = ns3::TcpSocketBase::Window();
    return m_limited ? std::min(window, m_limited->Limit(m_tcb->m_segmentSize)) : window;
}

// The receiver of NUFTCP (Sec. 3.2) -----------------------------------------------------------------------------------

void
Socket::Hold(ns3::Ptr<Card> card, uint16_t port, Nanoseconds hold)
{
    m_hold = hold;
    card->Listen(port, [this](uint8_t version) { Version(version); });
}

/** A packet comes. If its version is newer, the network has changed: for a time packets of the old way come, too. */
void
Socket::Version(uint8_t version)
{
    if (m_version < 0)
    {
        m_version = version; // of the connection's first packet
    }
    else if (Newer(version, m_version))
    {
        m_version = version;
        m_seen.updates++;
        m_holdUntil = ns3::Simulator::Now().GetNanoSeconds() + m_hold;
    }
}

void
Socket::ReceivedData(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header)
{
    const ns3::SequenceNumber32 before = m_tcb->m_rxBuffer->NextRxSequence();
    m_outOfOrder = header.GetSequenceNumber() > before;
    m_seen.ahead += m_outOfOrder;
    ns3::TcpSocketBase::ReceivedData(packet, header);
    m_outOfOrder = false;
    if (m_tcb->m_rxBuffer->NextRxSequence() > before)
    {
        // the hole is filled: nobody needs to know that there was one
        for (ns3::EventId& held : m_held)
        {
            m_seen.forgotten += held.IsPending();
            held.Cancel();
        }
        m_held.clear();
    }
}

void
Socket::SendEmptyPacket(uint8_t flags)
{
    const bool plain = (flags & ~(ns3::TcpHeader::ACK | ns3::TcpHeader::ECE)) == 0;
    if (m_hold && plain && m_outOfOrder && ns3::Simulator::Now().GetNanoSeconds() <= m_holdUntil)
    {
        m_seen.held++;
        m_held.push_back(ns3::Simulator::Schedule(ns3::NanoSeconds(m_hold), &Socket::Release, this, flags));
        return;
    }
    // with SACK, the ACKs that fill a hole would tell of what came ahead
    const bool sack = m_sackEnabled;
    m_sackEnabled = sack && !(plain && TheNuftcp().holdSack && Quiet());
    ns3::TcpSocketBase::SendEmptyPacket(flags);
    m_sackEnabled = sack;
}

/** Whether the receiver holds ACKs, or would hold duplicate ones. */
bool
Socket::Quiet() const
{
    return m_hold && (!m_held.empty() || ns3::Simulator::Now().GetNanoSeconds() <= m_holdUntil);
}

/** The time of a held ACK is over, and the hole is still there. */
void
Socket::Release(uint8_t flags)
{
    m_held.pop_front();
    m_seen.released++;
    ns3::TcpSocketBase::SendEmptyPacket(flags);
}

} // namespace rdcnlab
