// SPDX-License-Identifier: Apache-2.0
// MPI's own one-sided epochs, which the host opens and closes: those of post and start, of fences,
// and of locks.
#pragma once

#include "window_exchange.hpp"

namespace penstock::bench {

// Memory of MPI_Win_allocate: a window over it is made of that call's. Collective.
Memory mpi_window_memory(std::size_t bytes);

class HostEpochs {
 public:
  static constexpr bool on_stream = false;
  static void make(std::span<std::byte> incoming, MPI_Win* window);
  template <class Calls>
  void in_batch(Calls&& calls) const {
    calls();
  }
};

class MpiEpochs : public HostEpochs {
 public:
  void post(const WindowEnds& ends) const { MPI_Win_post(ends.origins(), 0, ends.window()); }
  void complete(const WindowEnds& ends) const {
    MPI_Win_start(ends.targets(), 0, ends.window());
    ends.put_all();
    MPI_Win_complete(ends.window());
  }
  void wait(const WindowEnds& ends) const { MPI_Win_wait(ends.window()); }
};

// Each half of a trip is ended by a fence on both ranks.
class FenceEpochs : public HostEpochs {
 public:
  static void make(std::span<std::byte> incoming, MPI_Win* window);
  void post(const WindowEnds&) const {}
  void complete(const WindowEnds& ends) const {
    ends.put_all();
    MPI_Win_fence(0, ends.window());
  }
  void wait(const WindowEnds& ends) const { MPI_Win_fence(0, ends.window()); }
};

// A lock tells the target nothing: an empty message does.
class LockEpochs : public HostEpochs {
 public:
  void post(const WindowEnds&) const {}
  void complete(const WindowEnds& ends) const;
  void wait(const WindowEnds& ends) const;
};

}  // namespace penstock::bench
