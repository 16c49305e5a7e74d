// SPDX-License-Identifier: Apache-2.0
// Collectives as the trips of an exchange: by Penstock on a stream of either device, and by MPI.
#pragma once

#include <penstock/penstock.hpp>

#include "exchange.hpp"

namespace penstock::bench {

// Null, with the reason, where the algorithm does not serve these ranks, or nothing serves this
// memory or queue. Collective, and the same on all ranks.
std::unique_ptr<Exchange> make_queue_collective(Kind kind, const Traffic& traffic,
                                                const MemorySource& source, QueueView queue,
                                                std::string& why_not);

// By MPI's functions that block. `synchronize` comes before each of them: a program waits there
// for its stream, which writes what goes.
std::unique_ptr<Exchange> make_mpi_collective(Kind kind, const Traffic& traffic,
                                              const MemorySource& source,
                                              std::function<void()> synchronize);

}  // namespace penstock::bench
