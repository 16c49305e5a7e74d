// SPDX-License-Identifier: Apache-2.0
// How a host transport gets at a message that a GPU's stream sends or receives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "transport/transport.hpp"

namespace penstock::relay {

enum class Access : std::uint8_t {
  host,    // it lies in host memory
  staged,  // in memory of a device: kernels copy it from and to pinned memory
  direct,  // in memory of a device, which the host transport can read and write itself
};

// Whether the host transport can be given a message in memory of a device as it lies. Not with
// gaps: our kernels find the bytes between them, MPI's packing makes a call for each run
// (docs/performance.md).
inline transport::Verdict takes_in_place(const transport::Transport& host,
                                         const transport::Message& message) {
  if (message.has_gaps()) return {false, "its bytes lie with gaps"};
  return host.can_serve(message);
}

// Returns the best access, as far as the transport can tell before it tries.
inline Access best_access(const transport::Transport& host, const transport::Message& message) {
  if (message.memory == device::MemoryKind::host) return Access::host;
  return takes_in_place(host, message).yes ? Access::direct : Access::staged;
}

// The half as the host transport sees it: `bytes` at the place where kernels leave or fetch the
// message.
inline transport::Message on_host(transport::Message message, void* staging, std::size_t bytes) {
  message.buffer = staging;
  message.bytes = bytes;
  message.memory = device::MemoryKind::host;
  message.gpu = -1;
  message.layout = nullptr;
  return message;
}

// attempt(access, why) with the best access; staged, `why` is what the transport has said against
// the device's memory, before or when it was given it. The other end sees no difference: how a
// message travels does not depend on where it lies.
template <class Attempt>
auto try_access(const transport::Transport& host, const transport::Message& message,
                Attempt attempt) {
  if (message.memory == device::MemoryKind::host) return attempt(Access::host, std::string());
  const transport::Verdict verdict = takes_in_place(host, message);
  std::string why = verdict.why;
  if (verdict.yes) {
    try {
      return attempt(Access::direct, std::string());
    } catch (const base::Error& error) {
      if (!message.described()) throw;
      why = error.text();
    }
  }
  return attempt(Access::staged, std::move(why));
}

}  // namespace penstock::relay
