// SPDX-License-Identifier: Apache-2.0
// The accumulates of an epoch on their way, in pages: the origin fills one, the network brings it
// to the target, whose engine applies it and says so, as the processors of its host are those that
// share its memory.
//
//   origin                                              target
//   writes the page, then pages += 1  ---------------->
//   until its own pages have risen, too  <-------------  applies it, pages += 1
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "plan/operation_stream.hpp"
#include "transport/operations.hpp"

namespace penstock::ofi {

// What a page begins with: how many bytes follow.
using PageHead = std::uint64_t;

// A window of no bytes needs none.
constexpr std::size_t page_bytes(std::size_t window_bytes, std::size_t eager_max) noexcept {
  return window_bytes == 0 ? 0 : sizeof(PageHead) + plan::page_room(window_bytes, eager_max);
}

// The accumulates of a list, in their order.
class PageWriter {
 public:
  // The list stays until done().
  void begin(const transport::Operations& list) noexcept {
    next_ = list.data();
    left_ = static_cast<std::size_t>(std::count_if(list.begin(), list.end(), is_accumulate));
  }
  bool done() const noexcept { return left_ == 0 && writer_.done(); }
  // Returns the bytes of the page.
  std::size_t fill(std::byte* page, std::size_t room) noexcept {
    std::size_t through = sizeof(PageHead);
    while (!done()) {
      if (writer_.done()) begin_next();
      through += writer_.write(page + through, room - through);
      if (!writer_.done()) break;
    }
    const PageHead bytes = through - sizeof(PageHead);
    std::memcpy(page, &bytes, sizeof bytes);
    return through;
  }

 private:
  static bool is_accumulate(const transport::Operation& operation) noexcept {
    return operation.verb == transport::Verb::accumulate && operation.bytes > 0;
  }
  void begin_next() noexcept {
    while (!is_accumulate(*next_)) ++next_;
    writer_.begin(*next_++);
    --left_;
  }

  const transport::Operation* next_ = nullptr;
  std::size_t left_ = 0;  // that have not begun
  plan::OperationWriter writer_;
};

// Applies one page after the other.
class PageReader {
 public:
  void take(const std::byte* page, std::byte* window) noexcept {
    PageHead bytes;
    std::memcpy(&bytes, page, sizeof bytes);
    for (std::size_t at = 0; at < bytes;) {
      if (reader_.done()) reader_.begin();
      at += reader_.read(page + sizeof bytes + at, bytes - at, window);
    }
  }

 private:
  plan::OperationReader reader_;
};

}  // namespace penstock::ofi
