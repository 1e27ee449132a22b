/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timetable of a class of traffic: which link it takes at an instant; see drivers/net/ocs/timetable.c of the patches.
 *
 * Slots repeat from the start on; before, the first slot is in force. Boundaries are sums of integers. At equal instants
 * a change of slot comes first: everything that acts calls `Timetables::Advance` before.
 */
#ifndef RDCNLAB_TIMETABLE_H
#define RDCNLAB_TIMETABLE_H

#include "link.h"

#include <memory>
#include <vector>

namespace rdcnlab
{

struct Slot
{
    Nanoseconds duration{0}; //!< 0 only if the slot is the only one
    uint16_t target{TARGET_DARK};
    Link* link{nullptr};       //!< of the target, if it is one
    int64_t limitBytes{-1};    //!< limits and threshold of the class's queue from this slot on; -1: as before
    int64_t limitPackets{-1};
    int64_t ecn{-1};
    uint8_t rank{0};
};

/** A class of traffic. */
class Traffic
{
  public:
    Traffic(uint16_t number, uint64_t seed);

    const uint16_t number;
    bool hold{false};     //!< whether packets wait in the dark
    bool queues{false};   //!< whether the class has a queue of its own
    Nanoseconds phase{0}; //!< ns after the epoch at which the first slot begins
    std::vector<Slot> slots;
    Queue queue;

    const Slot& Present() const
    {
        return slots[m_present];
    }

    /** Number of changes of the target so far, modulo 16: the version of the rule (NUFTCP). */
    uint8_t Version() const
    {
        return m_version;
    }

  private:
    friend class Timetables;

    void Begin(Nanoseconds epoch);
    void Step();
    void Enter();

    size_t m_present{0};
    bool m_waiting{false}; //!< the first slot has not begun
    bool m_moved{false};
    uint8_t m_version{0};
    Nanoseconds m_next{NEVER};
};

/** All classes of a switch. */
class Timetables
{
  public:
    /** @param served what happens to a frame that waited for the bypass */
    explicit Timetables(std::function<void(Frame*, Nanoseconds)> bypass);

    Traffic& Add(uint16_t number, uint64_t seed);
    Traffic& Find(uint16_t number);
    void Start(Nanoseconds epoch);

    /** Change all slots that end until now. */
    void Advance(Nanoseconds now)
    {
        if (now >= m_next)
        {
            Change(now);
        }
    }

  private:
    void Change(Nanoseconds now);
    void Settle(Nanoseconds now);
    void Serve(Traffic& traffic, Nanoseconds now);
    void Arm();
    void Expire();

    std::function<void(Frame*, Nanoseconds)> m_bypass;
    std::vector<std::unique_ptr<Traffic>> m_all; //!< by number
    Nanoseconds m_next{NEVER};
    Nanoseconds m_armed{NEVER};
};

} // namespace rdcnlab

#endif
