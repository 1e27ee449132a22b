/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A socket of ns-3's TCP that is observed as the kernel engine observes Linux, and that has TCP small queues.
 */
#ifndef RDCNLAB_SOCKET_H
#define RDCNLAB_SOCKET_H

#include "host.h"
#include "nuftcp.h"

#include "ns3/tcp-socket-base.h"

namespace rdcnlab
{

/** Settings of TCP that ns-3 has no attribute for. */
struct Pacing
{
    uint32_t slowStart{200};  //!< rate in percent of cwnd / srtt, in slow start
    uint32_t avoidance{120};  //!< the same in congestion avoidance
    uint64_t most{1'048'576}; //!< bytes that a flow may have in its host's queue
};

class Socket : public ns3::TcpSocketBase
{
  public:
    static ns3::TypeId GetTypeId();
    Socket() = default;
    Socket(const Socket& other);

    /** Observe the sender of a flow: record ACKs and retransmissions under its port, and bound its queue. */
    void Observe(ns3::Ptr<Card> card, uint16_t port, const Pacing& pacing);
    /** Hold duplicate ACKs for `hold` ns after an update of the network (NUFTCP), which packets to a port tell of. */
    void Hold(ns3::Ptr<Card> card, uint16_t port, Nanoseconds hold);
    /** Acknowledge all that has come, and close this direction. */
    void Finish();

    uint64_t Retransmits() const
    {
        return m_retransmits;
    }

    uint64_t Timeouts() const
    {
        return m_timeouts;
    }

    /** What a receiver has seen and done. */
    struct Seen
    {
        uint64_t ahead{0};      //!< segments that came while an earlier one was missing
        uint64_t updates{0};    //!< newer versions
        uint64_t held{0};       //!< duplicate ACKs that were held
        uint64_t forgotten{0};  //!< of those: never sent, because the hole was filled
        uint64_t released{0};   //!< of those: sent, because their time was over
    };

    const Seen& Observed() const
    {
        return m_seen;
    }

  protected:
    ns3::Ptr<ns3::TcpSocketBase> Fork() override;
    void ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header) override;
    void UpdateRttHistory(const ns3::SequenceNumber32& first, uint32_t size, bool again) override;
    ns3::Time CalculateRttSample(const ns3::TcpHeader& header, const ns3::RttHistory& segment) override;
    void ReTxTimeout() override;
    uint32_t AvailableWindow() const override;
    uint32_t Window() const override;
    void ReceivedData(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header) override;
    void SendEmptyPacket(uint8_t flags) override;

  private:
    uint64_t MostWaiting() const;
    void Continue();
    void Version(uint8_t version);
    void Release(uint8_t flags);
    bool Quiet() const;

    ns3::Ptr<Card> m_card;
    uint16_t m_port{0}; //!< the flow's; 0: the socket is not observed
    Pacing m_pacing;
    mutable bool m_throttled{false};
    uint64_t m_retransmits{0};
    uint64_t m_timeouts{0};
    const Nuftcp* m_limited{nullptr}; //!< the sender's congestion control, if it limits the window
    Seen m_seen;
    Nanoseconds m_hold{0};            //!< 0: duplicate ACKs are sent at once
    Nanoseconds m_holdUntil{0};       //!< until when packets of the network before its update may come
    int m_version{-1};                //!< the newest that came; -1: none
    bool m_outOfOrder{false};         //!< whether the segment that is handled came ahead
    std::deque<ns3::EventId> m_held;
};

} // namespace rdcnlab

#endif
