// SPDX-License-Identifier: Apache-2.0
// Memory of the library's own that messages come into and go from.
#pragma once

#include <cstddef>
#include <memory>

namespace penstock::core {

// In shared memory, where there is some left: processes of this host reach it by one copy, without
// a call of the system. Null for no bytes. What outlives the library stays usable, as memory of
// PST_Alloc_mem does. Throws base::Error(resources).
std::shared_ptr<std::byte> allocate_message_memory(std::size_t bytes);

}  // namespace penstock::core
