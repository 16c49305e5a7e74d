// SPDX-License-Identifier: Apache-2.0
#include "proxy/window_way.hpp"

#include <algorithm>

#include "plan/operation_stream.hpp"

namespace penstock::proxy {

using transport::Operation;
using transport::Operations;
using transport::Verb;

bool is_small(const Operations& list, std::size_t eager_bytes) noexcept {
  std::size_t words = 0;
  for (const Operation& operation : list) {
    if (operation.verb == Verb::get && operation.bytes > 0) return false;
    words += plan::words_of(operation);
    if (words * sizeof(plan::StreamWord) > eager_bytes) return false;
  }
  return true;
}

void Pieces::begin(const Operations& list, bool small) noexcept {
  list_ = &list;
  small_ = small;
  at_ = through_ = 0;
}

// Accumulates are the target's work, in their order.
bool Pieces::apart() const noexcept {
  const Operation& whole = (*list_)[at_];
  if (whole.bytes == 0 || whole.verb == Verb::accumulate) return false;
  return whole.verb == Verb::get || (!small_ && whole.bytes > most_in_page);
}

Operation Pieces::piece() const noexcept {
  Operation piece = (*list_)[at_];
  if (!apart()) return piece;
  piece.origin = static_cast<std::byte*>(piece.origin) + through_;
  piece.displacement += through_;
  piece.bytes = std::min(piece.bytes - through_, most_apart);
  return piece;
}

void Pieces::next() noexcept {
  if (apart()) through_ += piece().bytes;
  if (!apart() || through_ == (*list_)[at_].bytes) {
    ++at_;
    through_ = 0;
  }
}

}  // namespace penstock::proxy
