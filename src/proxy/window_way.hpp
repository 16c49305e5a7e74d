// SPDX-License-Identifier: Apache-2.0
// How the operations of a window's epoch are divided among MPI's messages: what stands in the pages
// that tell the target what to do, and what goes apart, as a message of its own from memory to
// memory.
#pragma once

#include <cstddef>

#include "protocol/epoch.hpp"
#include "transport/operations.hpp"

namespace penstock::proxy {

// So many epochs may be ahead of the target's waits, and pages on their way.
inline constexpr unsigned window_pages = 4;

// Whether an epoch with this list is small: it is one page, and need not wait for the post.
bool is_small(const transport::Operations& list, std::size_t eager_bytes) noexcept;

// How many posts an epoch's page comes behind. After post n the target has ended its wait n - 1.
constexpr protocol::Epoch posts_needed(protocol::Epoch epoch, bool small) noexcept {
  if (!small) return epoch;
  return epoch > window_pages ? epoch - window_pages + 1 : 0;
}

// The operations of a list in their order; of one that goes apart pieces that MPI can count.
class Pieces {
 public:
  void begin(const transport::Operations& list, bool small) noexcept;
  bool done() const noexcept { return at_ == list_->size(); }
  bool is_at(const Pieces& other) const noexcept {
    return at_ == other.at_ && through_ == other.through_;
  }
  transport::Operation piece() const noexcept;
  bool apart() const noexcept;
  void next() noexcept;

  // More of a put does not go by the page, unless the whole epoch does.
  static constexpr std::size_t most_in_page = 4096;
  static constexpr std::size_t most_apart = std::size_t{1} << 30;

 private:
  const transport::Operations* list_ = nullptr;
  bool small_ = false;
  std::size_t at_ = 0;
  std::size_t through_ = 0;  // of an operation in pieces
};

}  // namespace penstock::proxy
