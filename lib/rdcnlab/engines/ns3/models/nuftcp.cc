// SPDX-License-Identifier: GPL-2.0-only
#include "nuftcp.h"

#include "ns3/simulator.h"
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
Nuftcp::Average(uint32_t segment) const
{
    return std::max<double>(m_average, 2.0 * segment);
}

uint32_t
Nuftcp::Limit(uint32_t segment) const
{
    if (m_average == 0 || TheNuftcp().Reads(GROW_BY_AVERAGE))
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
    const bool echo = state->m_ecnState == ns3::TcpSocketState::ECN_ECE_RCVD;
    if (!m_begun)
    {
        // the SYN is a byte, too; the first round ends with the first window
        m_begun = true;
        m_before = ns3::SequenceNumber32(1);
        m_roundEnd = state->m_highTxMark;
        m_roundBegin = ns3::Simulator::Now();
    }
    m_acknowledged += now - m_before;
    m_before = now;
    m_echoed |= echo;
    if (TheNuftcp().Reads(COUNT_ACKS))
    {
        CountQuiet(state, echo);
    }
    if (RoundEnded(state))
    {
        EndRound(state);
    }
}

bool
Nuftcp::RoundEnded(ns3::Ptr<const ns3::TcpSocketState> state) const
{
    if (TheNuftcp().Reads(BASE_RTT))
    {
        return ns3::Simulator::Now() - m_roundBegin >= state->m_minRtt;
    }
    return m_before >= m_roundEnd;
}

/** Another round, or ACK, is over. */
void
Nuftcp::CountQuiet(ns3::Ptr<ns3::TcpSocketState> state, bool echoed)
{
    const NuftcpSettings& settings = TheNuftcp();
    m_quiet = echoed ? 0 : std::min(m_quiet + 1, settings.quiet);
    // a recovery leads the window to the threshold, and must find it there
    if (!settings.quiet || m_quiet < settings.quiet || state->m_congState > ns3::TcpSocketState::CA_DISORDER)
    {
        return;
    }
    m_quiet = 0;
    if (!settings.Reads(RESET_TO_AVERAGE))
    {
        state->m_ssThresh = state->m_initialSsThresh;
    }
    else if (m_average > 0)
    {
        state->m_ssThresh = Average(state->m_segmentSize);
    }
}

void
Nuftcp::EndRound(ns3::Ptr<ns3::TcpSocketState> state)
{
    const NuftcpSettings& settings = TheNuftcp();
    const double came = m_acknowledged;
    m_average = m_average == 0 ? came : m_average + settings.weight * (came - m_average);
    if (!settings.Reads(COUNT_ACKS))
    {
        CountQuiet(state, m_echoed);
    }
    const bool open = state->m_congState == ns3::TcpSocketState::CA_OPEN;
    if (settings.Reads(GROW_BY_AVERAGE) && open && !m_echoed && state->m_cWnd >= state->m_ssThresh)
    {
        // w_max of algorithm 2 is not defined
        const double most = std::numeric_limits<int32_t>::max();
        state->m_cWnd = uint32_t(std::min(state->m_cWnd.Get() + settings.factor * m_average, most));
    }
    m_acknowledged = 0;
    m_echoed = false;
    m_roundEnd = state->m_highTxMark;
    m_roundBegin = ns3::Simulator::Now();
}

void
Nuftcp::IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segments)
{
    ns3::TcpDctcp::IncreaseWindow(state, segments);
    if (TheNuftcp().Reads(UNDER_THRESHOLD))
    {
        state->m_cWnd = std::min(state->m_cWnd.Get(), state->m_ssThresh.Get());
    }
}

uint32_t
Nuftcp::GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state, uint32_t inFlight)
{
    const uint32_t threshold = ns3::TcpDctcp::GetSsThresh(state, inFlight);
    return TheNuftcp().Reads(CUT_TO_AVERAGE) && m_average > 0 ? Average(state->m_segmentSize) : threshold;
}

} // namespace rdcnlab
