// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "common/exchange.hpp"

namespace penstock::apps {

// The buffers of a variant that is driven by the host, and the calls of MPI on them. There are two
// sets, so that one can be received into while the other is still being unpacked, and packed into
// while the other is still being sent. MPI is given these buffers, which on a GPU lie in its
// memory, or pinned copies that the stream makes where MPI does not take that (or Options::staged);
// with Options::pinned there are no copies, and kernels pack into pinned memory.
class MpiBuffers {
 public:
  MpiBuffers(const Options& options, const std::vector<Neighbour>& neighbours, Lane& lane);

  const char* transport() const noexcept { return transport_; }
  // Numbers of messages below are places in the list of neighbours.
  int count() const noexcept { return static_cast<int>(neighbours_.size()); }
  const Neighbour& neighbour(int message) const {
    return neighbours_[static_cast<std::size_t>(message)];
  }
  const Sides& out(int set) const noexcept { return out_[static_cast<std::size_t>(set)].sides(); }
  const Sides& in(int set) const noexcept { return in_[static_cast<std::size_t>(set)].sides(); }

  // The memory that MPI is given.
  const SideBuffers& incoming(int set) const;
  std::span<double> outgoing(int set, int message) const;
  std::span<double> incoming(int set, int message) const;

  // Makes what was packed ready for its send, and what has come ready for unpacking, behind the
  // lane's earlier work.
  void stage_out(int set, int message);
  void stage_in(int set, int message);

  void post_receives(int set);
  void send(int set, int message);
  void wait_for_receives();
  // The number of a message that has come; -1 when all have.
  int wait_for_any_receive();
  void wait_for_sends();

 private:
  using Sets = std::array<SideBuffers, 2>;
  struct Staging {
    Sets out;
    Sets in;
  };

  const std::vector<Neighbour>& neighbours_;
  Lane& lane_;
  Sets out_;
  Sets in_;
  std::optional<Staging> staging_;
  const char* transport_;
  std::vector<MPI_Request> sends_;
  std::vector<MPI_Request> receives_;
};

}  // namespace penstock::apps
