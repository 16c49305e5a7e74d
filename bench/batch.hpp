// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <penstock/penstock.hpp>
#include <span>
#include <vector>

namespace penstock::bench {

// One message, as this rank sees it.
struct Transfer {
  std::span<std::byte> bytes;
  int peer;
  int tag;
  bool sends;
};

// How its messages are made: requests that are made once, or calls that are made anew each time.
enum class Calls { persistent, nonblocking };

// Messages that are started and waited for together.
class Batch {
 public:
  Batch() = default;
  Batch(std::vector<Transfer> transfers, Mode mode, Calls calls);

  // Persistent ones, or those of the nonblocking calls under way.
  std::span<MPI_Request> requests() noexcept {
    return persistent_.size() > 0 ? persistent_.all() : open_;
  }
  const std::vector<Transfer>& transfers() const noexcept { return transfers_; }
  // Nonblocking: makes the calls.
  void post();

 private:
  std::vector<Transfer> transfers_;
  Mode mode_ = Mode::standard;
  Requests persistent_;
  std::vector<MPI_Request> open_;
};

}  // namespace penstock::bench
