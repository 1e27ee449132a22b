/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A link: serialisation at a rate, then propagation; see drivers/net/ocs/link.c of the patches.
 *
 * A frame of L bytes whose serialisation begins at t keeps the link busy for (L + overhead) * 8e9 / rate ns and arrives
 * `delay` later. The remainder of the division is carried to the next frame while the link stays busy, so n frames back
 * to back take exactly n times as long as one. A link serves its own queue and the queues of the classes whose timetable
 * points to it, frame by frame in turn; queues of a rank wait while one of a lower rank has frames.
 */
#ifndef RDCNLAB_LINK_H
#define RDCNLAB_LINK_H

#include "queue.h"

#include "ns3/simulator.h"

#include <deque>
#include <functional>

namespace rdcnlab
{

/** Numbers of the links of a port, as in the kernel's interface. */
constexpr uint16_t LINK_INGRESS = 0x4000;
constexpr uint16_t LINK_EGRESS = 0x8000;

class Link
{
  public:
    /**
     * @param number its number in records
     * @param seed of the random numbers of its queue
     * @param arrived what happens to a frame at the end of the link, and when
     * @param before what must happen first at an instant: changes of slots
     */
    Link(uint16_t number,
         uint64_t seed,
         std::function<void(Frame*, Nanoseconds)> arrived,
         std::function<void(Nanoseconds)> before);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /** A frame arrives at the beginning of the link. */
    void Receive(Frame* frame, Nanoseconds now);
    /** A frame joins a queue which `link` serves; null if no link does now. */
    static void Enqueue(Link* link, Queue& queue, Frame* frame, Nanoseconds now);
    /** A queue that is not empty takes its turn from now on; `Run` is to follow. */
    void Join(Queue& queue, Nanoseconds now);
    /** A queue takes no more turns. */
    void Leave(Queue& queue);
    /** Do all that is due, in the order of time; starts come before arrivals. */
    void Run(Nanoseconds now);

    const uint16_t number;
    uint64_t rate{0}; //!< bit/s; 0 is infinite
    Nanoseconds delay{0};
    uint32_t overhead{0}; //!< bytes on the line in addition to a frame's length
    uint32_t context{ns3::Simulator::NO_CONTEXT}; //!< the node that ns-3 is to count its arrivals to; by default none
    Queue queue;

  private:
    Nanoseconds TimeOf(const Frame& frame);
    void Start();
    void TakeTurn(Queue& taking);
    void Send(Frame* frame);
    void Wake(Nanoseconds now);
    void Arm();
    void Expire(Nanoseconds instant);

    std::function<void(Frame*, Nanoseconds)> m_arrived;
    std::function<void(Nanoseconds)> m_before;
    std::deque<Queue*> m_turns;  //!< queues that are not empty, next to serve first
    std::deque<Frame*> m_wire;   //!< frames on their way, by arrival
    Nanoseconds m_busyUntil{0};  //!< end of the serialisation under way
    uint64_t m_rest{0};          //!< remainder of its rounding, in units of 1 / rate ns
    Nanoseconds m_lastDue{0};
    Nanoseconds m_armed{NEVER};
};

} // namespace rdcnlab

#endif
