// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace penstock::base {

// Room for `size` items, by doubling: so that what is filled later, by progress, never allocates.
template <class T>
void reserve_for(std::vector<T>& items, std::size_t size) {
  if (items.capacity() < size) items.reserve(std::max(2 * items.capacity(), size));
}

}  // namespace penstock::base
