// SPDX-License-Identifier: Apache-2.0
// Messages by MPI itself, moved by a thread of ours: works over every MPI and for every datatype,
// and needs MPI_THREAD_MULTIPLE.
#pragma once

#include <chrono>
#include <memory>

#include "base/settings.hpp"
#include "group/world.hpp"
#include "transport/transport.hpp"

namespace penstock::proxy {

// Its end, while MPI still works, delivers buffered messages first, as MPI_Finalize does.
std::unique_ptr<transport::Transport> make_transport(const base::Settings& settings,
                                                     group::World& world,
                                                     std::chrono::microseconds spin);

}  // namespace penstock::proxy
