// SPDX-License-Identifier: GPL-2.0-only
#include "tally.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace rdcnlab
{

namespace
{

std::FILE*
Created(const std::string& path)
{
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (!file)
    {
        throw std::runtime_error(path + ": " + std::strerror(errno));
    }
    return file;
}

template <typename One>
void
Put(std::FILE* file, const One& one)
{
    if (std::fwrite(&one, sizeof(one), 1, file) != 1)
    {
        throw std::runtime_error(std::string("counts: ") + std::strerror(errno));
    }
}

void
Closed(std::FILE*& file)
{
    std::FILE* open = std::exchange(file, nullptr);
    if (open && std::fclose(open))
    {
        throw std::runtime_error(std::string("counts: ") + std::strerror(errno));
    }
}

} // namespace

Bins::~Bins()
{
    if (m_file)
    {
        std::fclose(m_file);
    }
}

void
Bins::Open(const std::string& path, Nanoseconds width)
{
    m_file = Created(path);
    m_width = width;
}

void
Bins::Flush()
{
    for (const Row& row : m_rows)
    {
        Put(m_file, row);
    }
    m_rows.clear();
    m_places.clear();
}

void
Bins::Add(Nanoseconds now, uint16_t link, uint16_t dport, uint32_t length)
{
    const uint32_t bin = now / m_width;
    if (!m_rows.empty() && m_rows.front().bin != bin)
    {
        Flush();
    }
    const auto [place, fresh] = m_places.try_emplace(uint32_t(link) << 16 | dport, m_rows.size());
    if (fresh)
    {
        m_rows.push_back({0, bin, 0, link, dport, 0});
    }
    Row& row = m_rows[place->second];
    row.bytes += length;
    row.packets++;
}

void
Bins::Close()
{
    if (m_file)
    {
        Flush();
        Closed(m_file);
    }
}

Tally::~Tally()
{
    for (std::FILE* file : {m_standing, m_seen})
    {
        if (file)
        {
            std::fclose(file);
        }
    }
}

bool
Tally::Has(uint16_t link) const
{
    return std::find(links.begin(), links.end(), link) != links.end();
}

void
Tally::Open(const std::string& directory)
{
    m_left.Open(directory + "/left.tally", width);
    m_marked.Open(directory + "/marked.tally", width);
    m_standing = Created(directory + "/left.tally.standing");
    m_seen = Created(directory + "/left.tally.seen");
}

void
Tally::StandUntil(Waiting& queue, Nanoseconds time)
{
    while (queue.since < time)
    {
        const Nanoseconds end = (Nanoseconds(queue.now.bin) + 1) * width;
        const Nanoseconds until = std::min(time, end);
        queue.now.area += uint64_t(until - queue.since) * queue.length;
        queue.since = until;
        if (until == end)
        {
            Put(m_standing, queue.now);
            queue.now.area = queue.now.most = 0;
            queue.now.bin++;
        }
    }
}

void
Tally::LookBefore(Nanoseconds time)
{
    for (; m_next < instants.size() && instants[m_next] < time; m_next++)
    {
        for (const auto& [link, queue] : m_queues)
        {
            Put(m_seen, Seen{uint64_t(instants[m_next]), uint32_t(queue.length), link, 0});
        }
    }
}

void
Tally::Left(Nanoseconds now, uint16_t link, uint16_t dport, uint32_t length, uint64_t queue)
{
    if (!Has(link) || now < 0)
    {
        return;
    }
    m_left.Add(now, link, dport, length);
    LookBefore(now);
    const auto [place, fresh] = m_queues.try_emplace(link, Waiting{now, 0, {0, uint32_t(now / width), 0, link, {}}});
    Waiting& here = place->second;
    if (!fresh)
    {
        StandUntil(here, now);
    }
    here.length = queue;
    here.now.most = std::max<uint64_t>(here.now.most, queue + length);
}

void
Tally::Marked(Nanoseconds now, uint16_t link, uint16_t dport, uint32_t length)
{
    if (Has(link) && now >= 0)
    {
        m_marked.Add(now, link, dport, length);
    }
}

void
Tally::Close()
{
    if (!m_seen)
    {
        return;
    }
    LookBefore(std::numeric_limits<Nanoseconds>::max());
    for (const auto& [link, queue] : m_queues)
    {
        Put(m_standing, queue.now);
    }
    m_left.Close();
    m_marked.Close();
    Closed(m_standing);
    Closed(m_seen);
}

Tally&
TheTally()
{
    static Tally tally;
    return tally;
}

} // namespace rdcnlab
