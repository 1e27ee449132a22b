// SPDX-License-Identifier: GPL-2.0-only
#include "nuftcp.h"

#include "ns3/tcp-socket-state.h"

#include <algorithm>
#include <limits>

namespace rdcnlab
{

namespace
{

// before a flow asks for it by its name
const ns3::TypeId g_registered = Nuftcp::GetTypeId();

} // namespace

NuftcpSettings&
TheNuftcp()
{
    static NuftcpSettings settings;
    return settings;
}

ns3::TypeId
Nuftcp::GetTypeId()
{
    static ns3::TypeId tid =
        ns3::TypeId("rdcnlab::Nuftcp").SetParent<ns3::TcpDctcp>().AddConstructor<Nuftcp>();
    return tid;
}

std::string
Nuftcp::GetName() const
{
    return "Nuftcp";
}

ns3::Ptr<ns3::TcpCongestionOps>
Nuftcp::Fork()
{
    return ns3::CopyObject<Nuftcp>(this);
}

uint32_t
Nuftcp::Limit(uint32_t segment) const
{
    if (m_average == 0)
    {
        return std::numeric_limits<uint32_t>::max();
    }
    return std::max<double>(TheNuftcp().factor * m_average, 2.0 * segment);
}

void
Nuftcp::PktsAcked(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segments, const ns3::Time& rtt)
{
    ns3::TcpDctcp::PktsAcked(state, segments, rtt);
    const ns3::SequenceNumber32 now = state->m_lastAckedSeq;
    if (!m_begun)
    {
        // the SYN is a byte, too; the first round ends with the first window
        m_begun = true;
        m_before = ns3::SequenceNumber32(1);
        m_roundEnd = state->m_highTxMark;
    }
    m_acknowledged += now - m_before;
    m_before = now;
    m_echoed |= state->m_ecnState == ns3::TcpSocketState::ECN_ECE_RCVD;
    if (now >= m_roundEnd)
    {
        EndRound(state);
    }
}

void
Nuftcp::EndRound(ns3::Ptr<ns3::TcpSocketState> state)
{
    const NuftcpSettings& settings = TheNuftcp();
    const double came = m_acknowledged;
    m_average = m_average == 0 ? came : m_average + settings.weight * (came - m_average);
    m_quiet = m_echoed ? 0 : m_quiet + 1;
    if (m_quiet == settings.quiet)
    {
        m_quiet = 0;
        state->m_ssThresh = settings.toAverage ? uint32_t(m_average) : state->m_initialSsThresh;
    }
    m_acknowledged = 0;
    m_echoed = false;
    m_roundEnd = state->m_highTxMark;
}

} // namespace rdcnlab
