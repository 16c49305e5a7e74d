// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mover.hpp"

namespace penstock::halo {

// One set of message buffers, and persistent requests to and from all neighbours over them.
class Messages {
 public:
  // `set` tells the messages of several sets apart.
  Messages(Mover& mover, const Steering& steering, MPI_Comm comm, Sends sends, int set,
           bool staged = false);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  std::byte* outgoing() noexcept { return memory_; }
  std::byte* incoming() noexcept { return memory_ + bytes_; }

  // Sends and receives in the order of the neighbours.
  std::span<MPI_Request> all() noexcept { return requests_.all(); }
  std::span<MPI_Request> receives() noexcept { return all().first(all().size() / 2); }
  std::span<MPI_Request> sends() noexcept { return all().last(all().size() / 2); }

 private:
  Mover& mover_;
  std::uint64_t bytes_;
  std::byte* memory_;
  Requests requests_;
};

}  // namespace penstock::halo
