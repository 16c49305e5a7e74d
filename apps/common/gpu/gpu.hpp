// SPDX-License-Identifier: Apache-2.0
// What the example programs ask of a GPU. Without one in the build every function throws.
#pragma once

#include <memory>

#include "common/lane.hpp"
#include "common/memory.hpp"

namespace penstock::apps::gpu {

void choose_device();
Memory allocate(std::size_t bytes);
Memory allocate_pinned(std::size_t bytes);
void fetch(void* to, const void* from, std::size_t bytes);
std::unique_ptr<Lane> make_lane(bool with_queue);
// Behind earlier work of the stream, in either direction.
void enqueue_copy(void* stream, void* to, const void* from, std::size_t bytes);
// Whether this MPI says that it takes the GPU's memory.
bool mpi_takes_device_memory();

}  // namespace penstock::apps::gpu
