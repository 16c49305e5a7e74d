// SPDX-License-Identifier: Apache-2.0
#include "core/message_memory.hpp"

#include "core/library.hpp"
#include "core/transports.hpp"
#include "peer/memory.hpp"
#include "peer/peer.hpp"

namespace penstock::core {

std::shared_ptr<std::byte> allocate_message_memory(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  peer::Memory& memory = Library::require().transports().peer().memory();
  return {static_cast<std::byte*>(memory.allocate(bytes)), [](std::byte* allocated) {
            if (Library* const library = Library::get())
              library->transports().peer().memory().free(allocated);
          }};
}

}  // namespace penstock::core
