// SPDX-License-Identifier: Apache-2.0
#include "peer/cross_memory.hpp"

#include <sys/uio.h>

#include <cerrno>

namespace penstock::peer {

namespace {

using Call = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                         unsigned long);

// The kernel stops early at a limit of its own (2 GiB) or at a page that is not there; the call
// after that tells which it was.
int move(Call call, pid_t process, std::byte* ours, std::uint64_t theirs,
         std::size_t bytes) noexcept {
  while (bytes > 0) {
    const iovec local{ours, bytes};
    const iovec remote{reinterpret_cast<void*>(theirs), bytes};
    const ssize_t moved = call(process, &local, 1, &remote, 1, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return EFAULT;
    ours += moved;
    theirs += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return 0;
}

}  // namespace

int read_process(pid_t process, void* to, std::uint64_t from, std::size_t bytes) noexcept {
  return move(process_vm_readv, process, static_cast<std::byte*>(to), from, bytes);
}

int write_process(pid_t process, const void* from, std::uint64_t to, std::size_t bytes) noexcept {
  return move(process_vm_writev, process, static_cast<std::byte*>(const_cast<void*>(from)), to,
              bytes);
}

}  // namespace penstock::peer
