// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace penstock::peer_gpu {

// How a thread's polls have ended: with what they were for, as it was asked to leave, or as the
// wait was ended from outside.
enum class Looks : std::uint32_t { found, left, ended };

}  // namespace penstock::peer_gpu
