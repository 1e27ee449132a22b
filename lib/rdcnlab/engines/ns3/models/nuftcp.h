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
 * prose and its algorithms contradict each other. The above is the prose; rows 1 to 6 can follow the algorithms. The receiver's part is in socket.cc, the
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
    uint32_t readings{0};         //!< bit n: row n of docs/decisions/nuftcp.md follows the paper's algorithm 2
    Nanoseconds hold{1'000'000};  //!< how long a duplicate ACK is held; 0: not at all
    bool marks{false};            //!< whether switches write versions into packets
    bool holdSack{false};         //!< whether a receiver leaves SACK out of its ACKs while it may hold ACKs

    bool Reads(int row) const
    {
        return readings >> row & 1;
    }
};

/** Rows of docs/decisions/nuftcp.md. */
enum Row
{
    GROW_BY_AVERAGE = 1, //!< no limit; each round without ECE above the threshold adds factor * average
    CUT_TO_AVERAGE,      //!< congestion sets the threshold to the average
    RESET_TO_AVERAGE,    //!< after `quiet` rounds without ECE the threshold is the average
    COUNT_ACKS,          //!< `quiet` counts ACKs
    UNDER_THRESHOLD,     //!< the window never exceeds the threshold
    BASE_RTT             //!< a round is the shortest round-trip time
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
    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segments) override;
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state, uint32_t inFlight) override;

    /** Bytes that may be under way. */
    uint32_t Limit(uint32_t segment) const;

  private:
    void EndRound(ns3::Ptr<ns3::TcpSocketState> state);
    bool RoundEnded(ns3::Ptr<const ns3::TcpSocketState> state) const;
    void CountQuiet(ns3::Ptr<ns3::TcpSocketState> state, bool echoed);
    uint32_t Average(uint32_t segment) const;

    bool m_begun{false};
    ns3::SequenceNumber32 m_before{0};   //!< acknowledged before the present ACK
    ns3::SequenceNumber32 m_roundEnd{0}; //!< what ends the round when it is acknowledged
    ns3::Time m_roundBegin;
    uint64_t m_acknowledged{0};          //!< in this round
    bool m_echoed{false};                //!< whether an ECE came in this round
    uint32_t m_quiet{0};                 //!< rounds without ECE, one after the other
    double m_average{0};                 //!< 0: no round has ended
};

} // namespace rdcnlab

#endif
