/* SPDX-License-Identifier: GPL-2.0-only */
/* What the functions of the interface to Python share: the parts of the network by their numbers, and how they fail. */
#ifndef RDCNLAB_LAB_H
#define RDCNLAB_LAB_H

#include "switch.h"
#include "transfer.h"

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace rdcnlab
{

struct Lab
{
    uint32_t mtu{1500};
    uint64_t seed{0};
    Nanoseconds start{0};
    Transport transport;
    std::vector<Host> hosts;
    std::vector<std::unique_ptr<Switch>> switches;
    std::vector<std::unique_ptr<Flow>> flows;
    uint64_t awaited{0}; //!< flows whose end ends the run
    std::string error;
};

/** The network of this process. */
Lab& TheLab();

/** Call a function; if it raises an exception, keep its reason and return -1. */
template <typename Body>
int64_t
Guarded(Body body)
{
    try
    {
        return body();
    }
    catch (const std::bad_alloc&)
    {
        TheLab().error = "out of memory";
    }
    catch (const std::exception& error)
    {
        TheLab().error = error.what();
    }
    return -1;
}

} // namespace rdcnlab

#endif
