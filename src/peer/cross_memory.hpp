// SPDX-License-Identifier: Apache-2.0
// Copies between the address spaces of two processes, made by the kernel.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace penstock::peer {

// Each returns 0 when all bytes have been copied, otherwise the errno; then some bytes may have
// been copied.
int read_process(pid_t process, void* to, std::uint64_t from, std::size_t bytes) noexcept;
int write_process(pid_t process, const void* from, std::uint64_t to, std::size_t bytes) noexcept;

}  // namespace penstock::peer
