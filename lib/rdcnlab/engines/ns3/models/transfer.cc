// SPDX-License-Identifier: GPL-2.0-only
#include "transfer.h"

#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/inet-socket-address.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/packet.h"
#include "ns3/rtt-estimator.h"
#include "ns3/simulator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-prr-recovery.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <utility>

namespace rdcnlab
{

namespace
{

/** Where a sender listens that the sink asks: flows have different ports at the sink, as on the kernel engine. */
constexpr uint16_t SERVER_PORTS = 20'000;
/** Bytes of the request for a file, as the kernel engine's client sends it. */
constexpr uint32_t REQUEST = 51;
/** Linux: initial window (RFC 6928), first timeout (RFC 6298), shortest delay of an ACK (TCP_DELACK_MIN). */
constexpr uint32_t FIRST_WINDOW = 10;
constexpr Nanoseconds FIRST_TIMEOUT = 1'000'000'000;
constexpr Nanoseconds DELAYED_ACK = 40'000'000;
constexpr uint32_t PACKETS_AN_ACK = 2;
constexpr uint32_t RETRIES = 1000;
/** Segments that are written at once: more would only make the simulator's lists long. */
constexpr uint64_t WRITE = 64;

ns3::Time
Until(Nanoseconds instant)
{
    return ns3::NanoSeconds(instant - ns3::Simulator::Now().GetNanoSeconds());
}

} // namespace

Transfer::Transfer(const Order& order, const Transport& transport, std::function<void()> done)
    : m_order(order),
      m_transport(transport),
      m_done(std::move(done))
{
}

ns3::Ptr<Socket>
Transfer::Make(const Host& host) const
{
    auto tcp = host.node->GetObject<ns3::TcpL4Protocol>();
    ns3::ObjectFactory variants;
    variants.SetTypeId(m_order.variant);
    auto socket = ns3::CreateObject<Socket>();
    // as TcpL4Protocol::CreateSocket, which makes sockets of its own class
    socket->SetNode(host.node);
    socket->SetTcp(tcp);
    socket->SetRtt(ns3::CreateObject<ns3::RttMeanDeviation>());
    socket->SetRecoveryAlgorithm(ns3::CreateObject<ns3::TcpPrrRecovery>());
    socket->SetAttribute("SegmentSize", ns3::UintegerValue(m_transport.segment));
    socket->SetAttribute("SndBufSize", ns3::UintegerValue(m_transport.sendBuffer));
    socket->SetAttribute("RcvBufSize", ns3::UintegerValue(m_transport.receiveBuffer));
    socket->SetAttribute("InitialCwnd", ns3::UintegerValue(FIRST_WINDOW));
    socket->SetAttribute("ConnTimeout", ns3::TimeValue(ns3::NanoSeconds(FIRST_TIMEOUT)));
    socket->SetAttribute("DataRetries", ns3::UintegerValue(RETRIES));
    socket->SetAttribute("DelAckTimeout", ns3::TimeValue(ns3::NanoSeconds(DELAYED_ACK)));
    socket->SetAttribute("DelAckCount", ns3::UintegerValue(PACKETS_AN_ACK));
    // Linux delays a small segment only behind another small one, so a transfer's last segment never waits
    socket->SetAttribute("TcpNoDelay", ns3::BooleanValue(true));
    socket->SetAttribute("MinRto", ns3::TimeValue(ns3::NanoSeconds(m_transport.leastTimeout)));
    socket->SetAttribute("ReTxThreshold", ns3::UintegerValue(m_transport.reordering));
    socket->SetAttribute("Sack", ns3::BooleanValue(m_transport.sack));
    socket->SetAttribute("Timestamp", ns3::BooleanValue(m_transport.timestamps));
    socket->SetAttribute("WindowScaling", ns3::BooleanValue(m_transport.windowScaling));
    if (m_order.variant == Nuftcp::GetTypeId())
    {
        // the upper 4 bits of the TTL are the version, which begins with 0 (Sec. 3.2)
        socket->SetIpTtl(VERSIONS - 1);
    }
    socket->SetUseEcn(m_order.ecn ? ns3::TcpSocketState::On : ns3::TcpSocketState::Off);
    socket->SetCongestionControlAlgorithm(variants.Create<ns3::TcpCongestionOps>());
    tcp->AddSocket(socket);
    return socket;
}

void
Transfer::Begin()
{
    Listen();
    const Nanoseconds connect = m_order.connect == NEVER ? m_order.start : m_order.connect;
    const uint32_t client = (m_order.requested ? m_order.sink : m_order.source).node->GetId();
    ns3::Simulator::ScheduleWithContext(client, Until(connect), &Transfer::Open, this);
    if (m_order.connect != NEVER)
    {
        ns3::Simulator::ScheduleWithContext(client, Until(m_order.start), &Transfer::Started, this);
    }
}

void
Transfer::Listen()
{
    const Host& server = m_order.requested ? m_order.source : m_order.sink;
    const uint16_t port = m_order.requested ? SERVER_PORTS + m_order.port : m_order.port;
    m_listener = Make(server);
    m_listener->Bind(ns3::InetSocketAddress(server.address, port));
    m_listener->Listen();
    m_listener->SetAcceptCallback(
        ns3::MakeNullCallback<bool, ns3::Ptr<ns3::Socket>, const ns3::Address&>(),
        ns3::Callback<void, ns3::Ptr<ns3::Socket>, const ns3::Address&>(
            [this](ns3::Ptr<ns3::Socket> socket, const ns3::Address&) { Accepted(socket); }));
}

void
Transfer::Open()
{
    const Host& own = m_order.requested ? m_order.sink : m_order.source;
    const Host& other = m_order.requested ? m_order.source : m_order.sink;
    m_client = Make(own);
    if (m_order.requested)
    {
        m_client->Bind(ns3::InetSocketAddress(own.address, m_order.port));
        Takes(m_client);
    }
    else
    {
        m_client->Bind();
        Sends(m_client);
    }
    m_client->SetConnectCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([this](ns3::Ptr<ns3::Socket>) { Connected(); }),
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([](ns3::Ptr<ns3::Socket>) {}));
    if (m_order.connect == NEVER)
    {
        m_result.start = ns3::Simulator::Now().GetNanoSeconds();
    }
    const uint16_t port = m_order.requested ? SERVER_PORTS + m_order.port : m_order.port;
    m_client->Connect(ns3::InetSocketAddress(other.address, port));
}

/** The connection of the client is established. */
void
Transfer::Connected()
{
    m_sending = true;
    Started();
}

/** Send, or ask, once the connection is established and the start has come. */
void
Transfer::Started()
{
    const Nanoseconds now = ns3::Simulator::Now().GetNanoSeconds();
    if (!m_sending || now < m_order.start)
    {
        return;
    }
    if (m_result.start == NEVER)
    {
        m_result.start = now;
    }
    if (m_order.requested)
    {
        if (m_asked == 0)
        {
            m_client->Send(ns3::Create<ns3::Packet>(REQUEST), 0);
        }
    }
    else
    {
        Write();
    }
}

void
Transfer::Accepted(ns3::Ptr<ns3::Socket> socket)
{
    auto own = ns3::DynamicCast<Socket>(socket);
    if (m_order.requested)
    {
        Sends(own);
        own->SetRecvCallback(
            ns3::Callback<void, ns3::Ptr<ns3::Socket>>([this](ns3::Ptr<ns3::Socket>) { ReadRequest(); }));
    }
    else
    {
        Takes(own);
    }
}

void
Transfer::Sends(ns3::Ptr<Socket> socket)
{
    m_sender = socket;
    m_sender->Observe(m_order.source.card, m_order.port, m_transport.pacing);
    // the receiver closes when it has all; with that the transfer is over, as on the kernel engine
    auto over = ns3::Callback<void, ns3::Ptr<ns3::Socket>>([this](ns3::Ptr<ns3::Socket>) {
        if (m_done)
        {
            std::exchange(m_done, nullptr)();
        }
    });
    m_sender->SetCloseCallbacks(over, over);
    m_sender->SetSendCallback(ns3::Callback<void, ns3::Ptr<ns3::Socket>, uint32_t>(
        [this](ns3::Ptr<ns3::Socket>, uint32_t) { Write(); }));
}

void
Transfer::Takes(ns3::Ptr<Socket> socket)
{
    m_receiver = socket;
    if (m_order.variant == Nuftcp::GetTypeId() && TheNuftcp().hold)
    {
        m_receiver->Hold(m_order.sink.card, m_order.port, TheNuftcp().hold);
    }
    m_receiver->SetRecvCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([this](ns3::Ptr<ns3::Socket>) { Read(); }));
}

void
Transfer::ReadRequest()
{
    while (auto packet = m_sender->Recv(REQUEST, 0))
    {
        m_asked += packet->GetSize();
        if (packet->GetSize() == 0)
        {
            break;
        }
    }
    if (m_asked == REQUEST)
    {
        m_sending = true;
        Write();
    }
}

/** Fill the send buffer with whole segments, so that no short one is sent in between. */
void
Transfer::Write()
{
    const Nanoseconds now = ns3::Simulator::Now().GetNanoSeconds();
    if (!m_sending || now < m_order.start || !m_sender)
    {
        return;
    }
    while (m_written < m_order.size)
    {
        const uint64_t room = m_sender->GetTxAvailable() / m_transport.segment;
        const uint64_t whole = std::min<uint64_t>(room, WRITE) * m_transport.segment;
        const uint64_t amount = std::min(whole, m_order.size - m_written);
        if (!amount || m_sender->Send(ns3::Create<ns3::Packet>(amount), 0) < 0)
        {
            break;
        }
        m_written += amount;
    }
}

void
Transfer::Read()
{
    while (auto packet = m_receiver->Recv(~0U, 0))
    {
        if (packet->GetSize() == 0)
        {
            break;
        }
        m_result.received += packet->GetSize();
    }
    if (m_result.received >= m_order.size && m_result.end == NEVER)
    {
        m_result.end = ns3::Simulator::Now().GetNanoSeconds();
        m_receiver->Finish();
    }
}

Result
Transfer::Outcome() const
{
    Result result = m_result;
    if (m_sender)
    {
        result.retransmits = m_sender->Retransmits();
        result.timeouts = m_sender->Timeouts();
    }
    if (m_receiver)
    {
        result.seen = m_receiver->Observed();
    }
    return result;
}

} // namespace rdcnlab
