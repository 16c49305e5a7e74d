// SPDX-License-Identifier: Apache-2.0
#include "mpi_epochs.hpp"

#include <map>

#include "device.hpp"

namespace penstock::bench {
namespace {

// Windows of MPI_Win_allocate, by their memory, until somebody takes them.
std::map<const void*, MPI_Win> untaken;

constexpr int notice_tag = tags::mpi_lock + 99;

}  // namespace

Memory mpi_window_memory(std::size_t bytes) {
  void* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &window);
  std::fill_n(static_cast<std::byte*>(memory), bytes, std::byte{0});
  untaken[memory] = window;
  return {memory, bytes, [](void* freed) {
            const auto found = untaken.find(freed);
            if (found == untaken.end()) return;  // freed by who took the window
            MPI_Win_free(&found->second);
            untaken.erase(found);
          }};
}

void HostEpochs::make(std::span<std::byte> incoming, MPI_Win* window) {
  if (const auto found = untaken.find(incoming.data()); found != untaken.end()) {
    *window = found->second;
    untaken.erase(found);
    return;
  }
  MPI_Win_create(incoming.data(), static_cast<MPI_Aint>(incoming.size()), 1, MPI_INFO_NULL,
                 MPI_COMM_WORLD, window);
}

void FenceEpochs::make(std::span<std::byte> incoming, MPI_Win* window) {
  HostEpochs::make(incoming, window);
  MPI_Win_fence(0, *window);
}

void LockEpochs::complete(const WindowEnds& ends) const {
  MPI_Win_lock(MPI_LOCK_SHARED, ends.first_target(), 0, ends.window());
  ends.put_all();
  MPI_Win_unlock(ends.first_target(), ends.window());
  MPI_Send(nullptr, 0, MPI_BYTE, ends.first_target(), notice_tag, MPI_COMM_WORLD);
}

void LockEpochs::wait(const WindowEnds& ends) const {
  MPI_Recv(nullptr, 0, MPI_BYTE, ends.first_target(), notice_tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
}

}  // namespace penstock::bench
