// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace penstock::peer_gpu {

// How a thread's polls have ended: it has found what they were for, it was asked to leave, or the
// wait was ended from outside.
enum class PollEnd : std::uint32_t { found, left, ended };

}  // namespace penstock::peer_gpu
