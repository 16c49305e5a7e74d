// SPDX-License-Identifier: Apache-2.0
#include "coll/placement.hpp"

#include "coll/tuning.hpp"
#include "coll/wish.hpp"
#include "core/library.hpp"
#include "core/matching/refusals.hpp"
#include "core/node.hpp"
#include "device/gpu.hpp"

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

}  // namespace

Arguments placed(Arguments arguments) {
  if (!arguments.refusal.empty()) return arguments;
  core::Library& library = core::Library::require();
  try {
    const auto forced = forced_algorithm(library.settings().collective_algorithms, arguments.kind);
    if (!forced.empty()) arguments.algorithm = forced;
    arguments.gpu = gpu_of(arguments.memory);
    arguments.node = core::first_of_node(arguments.members, library);
    if (arguments.algorithm.empty())
      arguments.tuned_direct = tuning_of_library().direct_wish(
          arguments.kind, arguments.gpu >= 0, static_cast<int>(arguments.members.size()),
          tuning_bytes(arguments.count * arguments.element, arguments.sends));
  } catch (const std::exception& failure) {
    const Error error = core::error_of(failure);
    arguments.refusal = error.text();
    arguments.refusal_kind = error.kind();
  }
  return arguments;
}

}  // namespace penstock::coll
