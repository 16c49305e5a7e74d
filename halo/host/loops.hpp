// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../table.hpp"

namespace penstock::halo {

// Between a box of an array and the messages, on the calling thread.
void pack_box(const Box& box, const Part& part, const std::byte* array, std::byte* messages);
void unpack_box(const Box& box, const Part* parts, Reduction reduction, std::byte* array,
                const std::byte* messages);

}  // namespace penstock::halo
