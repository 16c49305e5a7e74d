// SPDX-License-Identifier: Apache-2.0
#include "peer/cross_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "datatype/place.hpp"

namespace penstock::peer {

namespace {

using Call = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                         unsigned long);

// What one call is given of one side: as many runs as there is room for.
struct Runs {
  static constexpr unsigned long most = 256;
  iovec list[most];
  unsigned long count = 0;

  Runs(const MessageMemory& memory, std::size_t position, std::size_t bytes) noexcept {
    const datatype::SegmentView& view = memory.segments;
    if (!view.has_gaps()) {
      add(memory.address + position, bytes);
      return;
    }
    datatype::Place place = datatype::place_at(view, position);
    while (bytes > 0 && count < most) {
      const std::size_t run = std::min<std::size_t>(datatype::left_in_run(view, place), bytes);
      add(memory.address + static_cast<std::uint64_t>(datatype::offset_of(view, place)), run);
      datatype::to_next_run(view, place);
      bytes -= run;
    }
  }
  void add(std::uint64_t address, std::size_t bytes) noexcept {
    list[count++] = {reinterpret_cast<void*>(address), bytes};
  }
};

// The kernel stops where the shorter list ends, and early at a limit of its own (2 GiB) or at a
// page that is not there; the call after that tells which it was.
int move(Call call, pid_t process, const MessageMemory& ours, const MessageMemory& theirs,
         std::size_t position, std::size_t bytes) noexcept {
  while (bytes > 0) {
    const Runs local(ours, position, bytes), remote(theirs, position, bytes);
    const ssize_t moved = call(process, local.list, local.count, remote.list, remote.count, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return EFAULT;
    position += static_cast<std::size_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return 0;
}

}  // namespace

int read_process(pid_t process, const MessageMemory& ours, const MessageMemory& theirs,
                 std::size_t position, std::size_t bytes) noexcept {
  return move(process_vm_readv, process, ours, theirs, position, bytes);
}

int write_process(pid_t process, const MessageMemory& theirs, const MessageMemory& ours,
                  std::size_t position, std::size_t bytes) noexcept {
  return move(process_vm_writev, process, ours, theirs, position, bytes);
}

}  // namespace penstock::peer
