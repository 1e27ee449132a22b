/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts of packets in bins while the run goes on, in place of a record of each.
 *
 * Files have the layout of the kernel engine's (inside/tools/tally.c), so one reader serves both: counts by bin, link
 * and port; the queues of links in bins; and the queues at given instants.
 */
#ifndef RDCNLAB_TALLY_H
#define RDCNLAB_TALLY_H

#include "frame.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace rdcnlab
{

/** Packets and bytes by link and port of the present bin; each finished bin goes to a file. */
class Bins
{
  public:
    ~Bins();

    void Open(const std::string& path, Nanoseconds width);
    void Add(Nanoseconds now, uint16_t link, uint16_t dport, uint32_t length);
    void Close();

  private:
    struct Row
    {
        uint64_t bytes;
        uint32_t bin;
        uint32_t packets;
        uint16_t link;
        uint16_t dport;
        uint32_t unused;
    };

    void Flush();

    std::FILE* m_file{nullptr};
    std::string m_path;
    Nanoseconds m_width{1};
    std::vector<Row> m_rows;                        //!< of the present bin, in the order of their first packets
    std::unordered_map<uint32_t, size_t> m_places;  //!< in m_rows, by link and port
};

/** What a run counts; without links it counts nothing. */
class Tally
{
  public:
    ~Tally();

    std::vector<uint16_t> links;
    std::vector<Nanoseconds> instants; //!< in rising order, from the scenario's start
    Nanoseconds width{1};

    bool Counts() const
    {
        return !links.empty();
    }

    void Open(const std::string& directory);
    /** A packet leaves the queue of a link, which then has `queue` bytes. */
    void Left(Nanoseconds now, uint16_t link, uint16_t dport, uint32_t length, uint64_t queue);
    void Marked(Nanoseconds now, uint16_t link, uint16_t dport, uint32_t length);
    void Close();

  private:
    struct Standing
    {
        uint64_t area;
        uint32_t bin;
        uint32_t most;
        uint16_t link;
        uint16_t unused[3];
    };

    struct Seen
    {
        uint64_t time;
        uint32_t length;
        uint16_t link;
        uint16_t unused;
    };

    struct Waiting
    {
        Nanoseconds since;
        uint64_t length;
        Standing now;
    };

    bool Has(uint16_t link) const;
    void StandUntil(Waiting& queue, Nanoseconds time);
    void LookBefore(Nanoseconds time);

    Bins m_left;
    Bins m_marked;
    std::map<uint16_t, Waiting> m_queues; //!< of the links that a packet has left, by number
    std::FILE* m_standing{nullptr};
    std::FILE* m_seen{nullptr};
    size_t m_next{0}; //!< instant
};

/** The counts of the run in this process. */
Tally& TheTally();

} // namespace rdcnlab

#endif
