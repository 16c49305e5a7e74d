// SPDX-License-Identifier: Apache-2.0
#include "coll/placement.hpp"

#include <algorithm>
#include <iterator>

#include "coll/selection.hpp"
#include "core/library.hpp"
#include "core/transports.hpp"
#include "device/gpu.hpp"
#include "group/world.hpp"

namespace penstock::coll {

using base::Error;
using base::ErrorKind;

namespace {

// Whose memory it is; null has none.
int gpu_of(const std::byte* buffer) {
  const bool of_gpu = buffer != nullptr && device::memory_kind(buffer) != device::MemoryKind::host;
  return of_gpu ? device::gpu_of(buffer) : -1;
}

int gpu_of(const Memory& memory) {
  const int gpu = gpu_of(memory.output != nullptr ? memory.output : memory.input);
  if (memory.input != nullptr && gpu_of(memory.input) != gpu)
    throw Error(ErrorKind::unsupported,
                "its buffers are not both in memory of the host, or of one GPU");
  return gpu;
}

// The first one of the members that are one node with this process: they share memory with it, and
// PENSTOCK_NODE_RANKS may cut them into nodes of so many.
int node_of(const std::vector<int>& members, core::Library& library) {
  const int self = library.world().rank();
  std::vector<int> node;
  std::copy_if(members.begin(), members.end(), std::back_inserter(node), [&](int member) {
    return member == self || (member >= 0 && library.transports().peer().reaches(member).yes);
  });
  std::sort(node.begin(), node.end());
  const std::size_t size = library.settings().node_ranks;
  if (size == 0) return node.front();
  const auto place =
      static_cast<std::size_t>(std::lower_bound(node.begin(), node.end(), self) - node.begin());
  return node[place - place % size];
}

}  // namespace

Arguments placed(Arguments arguments) {
  if (!arguments.refusal.empty()) return arguments;
  core::Library& library = core::Library::require();
  try {
    const auto forced = forced_algorithm(library.settings().collective_algorithms, arguments.kind);
    if (!forced.empty()) arguments.algorithm = forced;
    arguments.gpu = gpu_of(arguments.memory);
    arguments.node = node_of(arguments.members, library);
  } catch (const Error& error) {
    arguments.refusal = error.text();
    arguments.refusal_kind = error.kind();
  }
  return arguments;
}

}  // namespace penstock::coll
