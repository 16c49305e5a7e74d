// SPDX-License-Identifier: Apache-2.0
// The small messages by which one half of a pair tells the other that it is gone, or asks it
// something. On the communicator of the messages, in whose order MPI keeps them, under a tag of
// their own, since they are received from anybody. The caller sees to it that one thread at a time
// is in here.
#pragma once

#include <mpi.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/no_copy.hpp"
#include "base/reserve.hpp"
#include "proxy/end.hpp"
#include "proxy/notice.hpp"

namespace penstock::proxy {

class Notices : private base::NoCopy {
 public:
  static constexpr int tag = 0;  // no pair's

  explicit Notices(MPI_Comm communicator) noexcept : communicator_(communicator) {}

  void listen();  // from the first end on; throws base::Error
  // Each end has two at most; one more belongs to no end.
  void reserve(std::size_t ends) { base::reserve_for(unsent_, 2 * ends + 1); }

  // False: it cannot be sent, as to a process that is gone.
  bool send(Outgoing& outgoing, int peer) noexcept;
  // Moves unfinished sends along and calls taken(outgoing) for each that MPI is done with.
  template <class Taken>
  void flush(Taken taken) noexcept {
    for (std::size_t i = 0; i < unsent_.size();) {
      Outgoing& outgoing = *unsent_[i];
      if (!sent(outgoing)) {
        ++i;
        continue;
      }
      unsent_[i] = unsent_.back();
      unsent_.pop_back();
      taken(outgoing);
    }
  }
  bool all_sent() const noexcept { return unsent_.empty(); }
  // The next notice that has arrived and its sender.
  std::optional<std::pair<int, Notice>> take() noexcept;

  void stop() noexcept;  // cancels the receive

 private:
  static bool sent(Outgoing& outgoing) noexcept;

  const MPI_Comm communicator_;
  MPI_Request receive_ = MPI_REQUEST_NULL;
  bool listening_ = false;
  Notice incoming_;
  std::vector<Outgoing*> unsent_;
};

}  // namespace penstock::proxy
