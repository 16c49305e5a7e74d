// SPDX-License-Identifier: Apache-2.0
// The small messages by which one half of a pair tells the other that it is gone. On a communicator of their own, since
// they are received from anybody. The caller sees to it that one thread at a time is in here.
#pragma once

#include <mpi.h>

#include <optional>
#include <utility>
#include <vector>

#include "transport/grow.hpp"
#include "transport/proxy/channel.hpp"
#include "transport/proxy/notice.hpp"

namespace penstock::transport::proxy {

class Notices {
 public:
  explicit Notices(MPI_Comm communicator) noexcept : communicator_(communicator) {}
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  void listen();  // from the first channel on; throws base::Error
  void reserve(std::size_t channels) { reserve_for(unsent_, channels); }

  void send(Channel& channel) noexcept;  // channel.notice
  // Moves unfinished sends along and calls taken(channel) for each that MPI is done with.
  template <class Taken>
  void flush(Taken taken) noexcept {
    for (std::size_t i = 0; i < unsent_.size();) {
      Channel& channel = *unsent_[i];
      if (!sent(channel)) {
        ++i;
        continue;
      }
      unsent_[i] = unsent_.back();
      unsent_.pop_back();
      taken(channel);
    }
  }
  bool all_sent() const noexcept { return unsent_.empty(); }
  // The next notice that has arrived and its sender.
  std::optional<std::pair<int, Notice>> take() noexcept;

  void stop() noexcept;  // cancels the receive

 private:
  static bool sent(Channel& channel) noexcept;

  const MPI_Comm communicator_;
  MPI_Request receive_ = MPI_REQUEST_NULL;
  bool listening_ = false;
  Notice incoming_;
  std::vector<Channel*> unsent_;
};

}  // namespace penstock::transport::proxy
