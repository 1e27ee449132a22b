// SPDX-License-Identifier: GPL-2.0-only
#include "records.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace rdcnlab
{

namespace
{

constexpr size_t BUFFER = 1 << 20;

} // namespace

File::~File()
{
    if (m_file)
    {
        std::fclose(m_file);
    }
}

void
File::Open(const std::string& path)
{
    m_path = path;
    m_file = std::fopen(path.c_str(), "wb");
    if (!m_file)
    {
        throw std::runtime_error(path + ": " + std::strerror(errno));
    }
    m_buffer.resize(BUFFER);
    std::setvbuf(m_file, m_buffer.data(), _IOFBF, m_buffer.size());
}

void
File::Write(std::initializer_list<int64_t> fields)
{
    if (m_file && std::fwrite(fields.begin(), sizeof(int64_t), fields.size(), m_file) != fields.size())
    {
        throw std::runtime_error(m_path + ": " + std::strerror(errno));
    }
}

void
File::Close()
{
    const bool failed = m_file && std::fclose(m_file);
    m_file = nullptr;
    if (failed)
    {
        throw std::runtime_error(m_path + ": " + std::strerror(errno));
    }
}

void
Records::Open(const std::string& directory)
{
    slots.Open(directory + "/slots.records");
    came.Open(directory + "/came.records");
    left.Open(directory + "/left.records");
    dropped.Open(directory + "/dropped.records");
    marked.Open(directory + "/marked.records");
    acks.Open(directory + "/acks.records");
    again.Open(directory + "/again.records");
}

void
Records::Close()
{
    for (File* file : {&slots, &came, &left, &dropped, &marked, &acks, &again})
    {
        file->Close();
    }
}

Records&
TheRecords()
{
    static Records records;
    return records;
}

} // namespace rdcnlab
