// SPDX-License-Identifier: Apache-2.0
// MPI handles as numbers, and back: they are integers in one MPI and pointers in another.
#pragma once

#include <cstdint>
#include <type_traits>

namespace penstock::group {

template <class Handle>
std::uintptr_t handle_bits(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uintptr_t>(handle);
  else
    return static_cast<std::make_unsigned_t<Handle>>(handle);  // no sign extension
}

template <class Handle>
Handle handle_of(std::uintptr_t bits) noexcept {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(bits);
  else
    return static_cast<Handle>(bits);
}

}  // namespace penstock::group
