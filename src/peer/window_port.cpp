// SPDX-License-Identifier: Apache-2.0
#include "peer/window_port.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "plan/accumulate.hpp"

namespace penstock::peer {

using transport::Operation;
using transport::Operations;
using transport::Verb;

namespace {

constexpr std::size_t payload_words = WindowPort::payload / sizeof(StreamWord);
static_assert(WindowPort::payload % sizeof(StreamWord) == 0);
static_assert((plan::operation_header_words + 1) * sizeof(StreamWord) <=
              transport::WindowReach::eager_header);

}  // namespace

std::size_t lines_for(std::size_t words) noexcept {
  return (head_words + words + payload_words - 1) / payload_words;
}

EpochWay way_of(const Operations& list, const transport::WindowReach& reach,
                std::size_t eager_max) noexcept {
  std::size_t words = 0, accumulated = 0, accumulates = 0;
  bool gets = false;
  for (const Operation& operation : list) {
    gets = gets || operation.verb == Verb::get;
    if (operation.verb == Verb::get) continue;
    words += plan::words_of(operation);
    if (operation.verb != Verb::accumulate) continue;
    accumulated += plan::words_of(operation);
    ++accumulates;
  }
  const bool all_direct = reach.direct && (reach.atomic || accumulates == 0);
  EpochWay way;
  const std::size_t limit =
      reach.direct ? std::min(eager_max, reach.eager_bytes) : reach.eager_bytes;
  if (!gets && words * sizeof(StreamWord) <= limit) {
    way.eager_operations = list.size();
  } else {
    way.head.parts = 1;
    if (all_direct) return way;
    way.eager_operations = accumulates;
    way.accumulates_only = true;
    words = accumulated;
  }
  way.head.lines = static_cast<std::uint32_t>(lines_for(words) - 1);
  return way;
}

void WindowPort::begin(const Operations& list, const EpochWay& way,
                       transport::Promise promise) noexcept {
  list_ = &list;
  way_ = way;
  promise_ = promise;
  at_ = 0;
}

bool WindowPort::next_eager() noexcept {
  while (at_ < list_->size() && !way_.goes_eager((*list_)[at_])) ++at_;
  if (at_ == list_->size()) return false;
  writer_.begin((*list_)[at_++]);
  return true;
}

void WindowPort::fill(unsigned slot, std::uint32_t line) noexcept {
  std::byte* const to = line_at(slot, line);
  if (line > 0) return write_stream(to, payload);
  const StreamWord head[head_words] = {
      way_.head.lines | static_cast<StreamWord>(way_.head.parts) << 32, way_.eager_operations};
  std::memcpy(to, head, sizeof head);
  write_stream(to + sizeof head, payload - sizeof head);
}

// `bytes` is a multiple of a word's.
void WindowPort::write_stream(std::byte* to, std::size_t bytes) noexcept {
  while (bytes > 0 && (!writer_.done() || next_eager())) {
    const std::size_t written = writer_.write(to, bytes);
    to += written;
    bytes -= written;
  }
}

protocol::window::Head WindowPort::read_head(unsigned slot) noexcept {
  const std::byte* const from = line_at(slot, 0);
  StreamWord head[head_words];
  std::memcpy(head, from, sizeof head);
  operations_left_ = head[1];
  read_stream(from + sizeof head, payload - sizeof head);
  return {static_cast<std::uint32_t>(head[0]), static_cast<std::uint32_t>(head[0] >> 32)};
}

void WindowPort::drain(unsigned slot, std::uint32_t line) noexcept {
  read_stream(line_at(slot, line), payload);
}

void WindowPort::read_stream(const std::byte* from, std::size_t bytes) noexcept {
  while (bytes > 0) {
    if (reader_.done()) {
      if (operations_left_ == 0) return;
      --operations_left_;
      reader_.begin();
    }
    const std::size_t taken = reader_.read(from, bytes, buffer());
    from += taken;
    bytes -= taken;
  }
}

void WindowPort::move(std::uint32_t) noexcept {
  for (const Operation& operation : *list_) {
    if (way_.goes_eager(operation) || operation.bytes == 0) continue;
    move_one(operation);
    if (copy_failed()) return;
  }
}

void WindowPort::move_one(const Operation& operation) noexcept {
  const std::uint64_t theirs = other().address + operation.displacement;
  if (other().process != 0) {
    const MessageMemory far{theirs}, near{reinterpret_cast<std::uintptr_t>(operation.origin)};
    if (other_gone())
      set_copy_error(ESRCH);
    else
      set_copy_error(operation.verb == Verb::get
                         ? read_process(other().process, near, far, 0, operation.bytes)
                         : write_process(other().process, far, near, 0, operation.bytes));
    return;
  }
  auto* const far = reinterpret_cast<std::byte*>(theirs);
  auto* const near = static_cast<std::byte*>(operation.origin);
  if (operation.verb == Verb::get)
    std::memcpy(near, far, operation.bytes);
  else if (operation.verb == Verb::put)
    std::memcpy(far, near, operation.bytes);
  else
    plan::accumulate(operation, far, near, operation.bytes);
}

}  // namespace penstock::peer
