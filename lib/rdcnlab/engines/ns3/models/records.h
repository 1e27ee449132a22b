/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of a run: one file for each kind of event, with the fields of the kernel engine's events.
 *
 * All numbers are little-endian and have 64 bits: the reader needs no description, and compressing them is not worth
 * anybody's time, as the files live as long as the run.
 */
#ifndef RDCNLAB_RECORDS_H
#define RDCNLAB_RECORDS_H

#include "frame.h"

#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

namespace rdcnlab
{

/** A file of records with the same number of fields. */
class File
{
  public:
    ~File();

    /** Create the file; raise std::runtime_error if that is not possible. */
    void Open(const std::string& path);
    void Write(std::initializer_list<int64_t> fields);
    void Close();

  private:
    std::FILE* m_file{nullptr};
    std::vector<char> m_buffer;
    std::string m_path;
};

/** What a run records of the flows whose ports are `first` to `last`. */
struct Records
{
    File slots;    //!< time, class, slot, target
    File came;     //!< time, link, class, length, dport
    File left;     //!< time, link, class, length, queue, dport
    File dropped;  //!< time, link, class, length, dport, reason
    File marked;   //!< time, link, class, length, dport
    File acks;     //!< time, dport, snd_una, snd_cwnd, ssthresh, srtt
    File again;    //!< time, dport
    Nanoseconds start{0}; //!< the scenario's start, which all times count from
    uint16_t first{1};
    uint16_t last{0};
    bool all{false};  //!< whether packets that join a queue are recorded everywhere, not only in queues of classes
    bool acknowledgements{false}; //!< whether ACKs are recorded

    /** Create all files in a directory. */
    void Open(const std::string& directory);
    void Close();

    bool Ours(const Frame& frame) const
    {
        return frame.dport >= first && frame.dport <= last;
    }
};

/** The records of the run in this process. */
Records& TheRecords();

} // namespace rdcnlab

#endif
