/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NUFTCP (Dogar et al., "Resilient TCP Variant Enabling Smooth Network Updates for Software-Defined Data Center
 * Networks"): DCTCP whose window is limited by what was acknowledged.
 *
 *   s_k    bytes acknowledged in round k; a round is the time until what was sent at its begin is acknowledged
 *   a_k    = a_(k-1) + weight * (s_k - a_(k-1)), a_1 = s_1                          weight 0.2, Sec. 3.1 (4)
 *   limit  = factor * a_k in round k + 1, two segments at least                     factor 1.5, Sec. 3.1 (4)
 *   reset  of the slow-start threshold after `quiet` rounds without ECE             10, Sec. 3.1 (4)
 *
 * The limit is a state of its own beside cwnd, which stays DCTCP's. docs/decisions/nuftcp.md lists where the paper's
 * prose and its algorithms contradict each other, and which reading this is. The receiver's part is in socket.cc, the
 * switches' in timetable.cc and frame.cc.
 */
#ifndef RDCNLAB_NUFTCP_H
#define RDCNLAB_NUFTCP_H

#include "frame.h"

#include "ns3/tcp-dctcp.h"

namespace rdcnlab
{

/** Parameters of NUFTCP, the same for all flows of a run. */
struct NuftcpSettings
{
    double factor{1.5};
    double weight{0.2};
    uint32_t quiet{10};
    bool toAverage{false};        //!< whether the threshold is reset to the average, as in algorithm 2, or has no value
    Nanoseconds hold{1'000'000};  //!< how long a duplicate ACK is held; 0: not at all
    bool marks{false};            //!< whether switches write versions into packets
};

NuftcpSettings& TheNuftcp();

class Nuftcp : public ns3::TcpDctcp
{
  public:
    static ns3::TypeId GetTypeId();
    Nuftcp() = default;
    Nuftcp(const Nuftcp& other) = default;

    std::string GetName() const override;
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;
    void PktsAcked(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segments, const ns3::Time& rtt) override;

    /** Bytes that may be under way. */
    uint32_t Limit(uint32_t segment) const;

  private:
    void EndRound(ns3::Ptr<ns3::TcpSocketState> state);

    bool m_begun{false};
    ns3::SequenceNumber32 m_before{0};   //!< acknowledged before the present ACK
    ns3::SequenceNumber32 m_roundEnd{0}; //!< what ends the round when it is acknowledged
    uint64_t m_acknowledged{0};          //!< in this round
    bool m_echoed{false};                //!< whether an ECE came in this round
    uint32_t m_quiet{0};                 //!< rounds without ECE, one after the other
    double m_average{0};                 //!< 0: no round has ended
};

} // namespace rdcnlab

#endif
