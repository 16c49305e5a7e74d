// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace penstock::device {

// Whose memory a buffer lies in, which decides the kind of stream that its messages can be enqueued
// on. Memory of the host is `host` also where a GPU can read it; `cuda` is a GPU's, with HIP too.
enum class MemoryKind : std::uint8_t { host, cuda };

}  // namespace penstock::device
