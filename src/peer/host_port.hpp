// SPDX-License-Identifier: Apache-2.0
// The port of host threads: words and lines in memory that both ends address by plain pointers, in
// one process or in two. std::atomic_ref gives each word its order; on x86 every acquire load and
// release store of it is a plain move.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/flag_bits.hpp"
#include "datatype/copy.hpp"
#include "peer/control.hpp"
#include "peer/cross_memory.hpp"
#include "peer/exposed_memory.hpp"
#include "peer/parts.hpp"
#include "protocol/port.hpp"

namespace penstock::peer {

// What both ends of a pair know. `buffer` is the send buffer at the sender, the receive buffer at
// the receiver.
struct PortSetup {
  SenderBlock* sender = nullptr;
  ReceiverBlock* receiver = nullptr;
  std::byte* lines = nullptr;  // ring: the first slot
  std::byte* buffer = nullptr;
  datatype::SegmentView segments;  // of the buffer
  Cut cut;
  RemoteMemory other;  // rendezvous: the other end's buffer
  datatype::SegmentView other_segments;
  bool checks_ready = false;
};

// Copies a constant number of bytes in steps that the compiler turns into vector moves. (For a
// whole line it would choose string instructions, which cost more to start than the line to move.)
template <std::size_t bytes>
inline void copy_constant(std::byte* to, const std::byte* from) noexcept {
  constexpr std::size_t step = 64;
  for (std::size_t at = 0; at + step <= bytes; at += step) std::memcpy(to + at, from + at, step);
  if constexpr (bytes % step != 0)
    std::memcpy(to + bytes / step * step, from + bytes / step * step, bytes % step);
}

template <std::size_t line_bytes>
class HostPort {
  static_assert(line_bytes % cache_line == 0);

 public:
  static constexpr bool native_atomics = true;  // the claim is one exchange
  static constexpr bool may_close = true;
  static constexpr std::size_t payload = line_bytes - sizeof(std::uint64_t);

  explicit HostPort(const PortSetup& setup) noexcept
      : sender_(setup.sender),
        receiver_(setup.receiver),
        buffer_(setup.buffer),
        lines_at_(setup.lines),
        slot_bytes_(setup.cut.slot_bytes()),
        lines_(setup.cut.lines()),
        slots_(setup.cut.slots),
        tail_(setup.cut.message_bytes - (lines_ - 1) * payload),
        bytes_(setup.cut.message_bytes),
        parts_(bytes_, setup.cut.parts),
        other_(setup.other),
        checks_ready_(setup.checks_ready),
        walk_(setup.segments),
        other_segments_(setup.other_segments) {}

  template <protocol::Order order>
  std::uint64_t load(protocol::Word word) const noexcept {
    return std::atomic_ref(at(word)).load(order);
  }

  template <protocol::Order order>
  void store(protocol::Word word, std::uint64_t value) const noexcept {
    std::atomic_ref(at(word)).store(value, order);
  }

  std::uint64_t exchange(protocol::Word word, std::uint64_t value) const noexcept {
    return std::atomic_ref(at(word)).exchange(value, std::memory_order_acq_rel);
  }

  // Race detectors execute fences and do not model them. For a claim by flags they see the seq_cst
  // accesses beside them; what fences order around CLOSED is a race to them in any case.
  template <protocol::Order order>
  void fence() const noexcept {
    std::atomic_thread_fence(order);
  }

  // Plain copies of a constant size: between the flag of one epoch and FIN a slot belongs to one
  // side alone.
  void fill(unsigned slot, std::uint32_t line) noexcept {
    std::byte* to = line_at(slot, line);
    const std::size_t at = std::size_t{line} * payload;
    if (walk_.has_gaps()) [[unlikely]]
      return walk_.pack(to, buffer_, at, line + 1 < lines_ ? payload : tail_);
    const std::byte* from = buffer_ + at;
    if (line + 1 < lines_)
      copy_constant<payload>(to, from);
    else if (tail_ != 0)
      std::memcpy(to, from, tail_);
  }
  void drain(unsigned slot, std::uint32_t line) noexcept {
    const std::byte* from = line_at(slot, line);
    const std::size_t at = std::size_t{line} * payload;
    if (walk_.has_gaps()) [[unlikely]]
      return walk_.unpack(buffer_, from, at, line + 1 < lines_ ? payload : tail_);
    std::byte* to = buffer_ + at;
    if (line + 1 < lines_)
      copy_constant<payload>(to, from);
    else if (tail_ != 0)
      std::memcpy(to, from, tail_);
  }
  std::uint64_t load_flag(unsigned slot, std::uint32_t line) const noexcept {
    return std::atomic_ref(flag_at(slot, line)).load(std::memory_order_acquire);
  }
  void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) const noexcept {
    std::atomic_ref(flag_at(slot, line)).store(flag, std::memory_order_release);
  }

  void push() noexcept { push_part(0, bytes_); }
  void pull() noexcept { pull_part(0, bytes_); }

  // The sender takes parts from the front and the receiver from the back, until they meet: so each
  // processor has the same bytes in its cache in every epoch.
  bool push_with_help(protocol::Epoch epoch) noexcept {
    if (parts_.count >= 2)
      return offer_parts<protocol::Side::sender>(receiver_->pushed_parts, epoch);
    push();
    return false;
  }
  bool pull_with_help(protocol::Epoch epoch) noexcept {
    if (parts_.count >= 2)
      return offer_parts<protocol::Side::receiver>(sender_->pulled_parts, epoch);
    pull();
    return false;
  }
  bool help_push(protocol::Epoch epoch) noexcept {
    return help_copy<protocol::Side::receiver>(receiver_->pushed_parts, epoch);
  }
  bool help_pull(protocol::Epoch epoch) noexcept {
    return help_copy<protocol::Side::sender>(sender_->pulled_parts, epoch);
  }
  bool refuse_help(protocol::Epoch epoch) noexcept {
    return parts_.count >= 2 && Parts::refuse(std::atomic_ref(sender_->pulled_parts), epoch);
  }
  bool copy_failed() const noexcept { return copy_error_ != 0; }
  int copy_error() const noexcept { return copy_error_; }

  unsigned slots() const noexcept { return slots_; }
  std::uint32_t lines() const noexcept { return lines_; }
  static constexpr unsigned flag_bits() noexcept { return PENSTOCK_FLAG_BITS; }
  bool checks_ready() const noexcept { return checks_ready_; }

  SenderBlock& sender_block() const noexcept { return *sender_; }
  ReceiverBlock& receiver_block() const noexcept { return *receiver_; }

 protected:
  std::byte* buffer() const noexcept { return buffer_; }
  const RemoteMemory& other() const noexcept { return other_; }
  bool other_gone() const noexcept {
    return other_.dead != nullptr && other_.dead->load(std::memory_order_relaxed);
  }
  std::byte* line_at(unsigned slot, std::uint32_t line) const noexcept {
    return lines_at_ + slot * slot_bytes_ + std::size_t{line} * line_bytes;
  }
  void set_copy_error(int error) noexcept { copy_error_ = error; }

 private:
  template <protocol::Side side>
  bool offer_parts(std::uint64_t& word, protocol::Epoch epoch) noexcept {
    Parts::offer(std::atomic_ref(word), epoch, parts_.count);
    return take_parts<side>(word) < parts_.count;
  }
  template <protocol::Side side>
  bool help_copy(std::uint64_t& word, protocol::Epoch epoch) noexcept {
    return Parts::offered(std::atomic_ref(word), epoch) && other_.address != 0 &&
           take_parts<side>(word) > 0;
  }
  template <protocol::Side side>
  std::uint32_t take_parts(std::uint64_t& word) noexcept {
    const auto copy = [this](std::uint64_t part) {
      if constexpr (side == protocol::Side::sender)
        push_part(part * parts_.bytes, parts_.bytes);
      else
        pull_part(part * parts_.bytes, parts_.bytes);
    };
    return Parts::take<side>(std::atomic_ref(word), copy, [this] { return copy_failed(); });
  }

  MessageMemory ours() const noexcept {
    return {reinterpret_cast<std::uintptr_t>(buffer_), walk_.view()};
  }
  MessageMemory theirs() const noexcept { return {other_.address, other_segments_}; }
  void push_part(std::size_t at, std::size_t most) noexcept {
    const std::size_t bytes = std::min(most, bytes_ - at);
    if (other_.process == 0)
      datatype::copy(reinterpret_cast<std::byte*>(other_.address), other_segments_, buffer_,
                     walk_.view(), at, bytes);
    else
      copy_error_ =
          other_gone() ? ESRCH : write_process(other_.process, theirs(), ours(), at, bytes);
  }
  void pull_part(std::size_t at, std::size_t most) noexcept {
    const std::size_t bytes = std::min(most, bytes_ - at);
    if (other_.process == 0)
      datatype::copy(buffer_, walk_.view(), reinterpret_cast<const std::byte*>(other_.address),
                     other_segments_, at, bytes);
    else
      copy_error_ =
          other_gone() ? ESRCH : read_process(other_.process, ours(), theirs(), at, bytes);
  }

  std::uint64_t& at(protocol::Word word) const noexcept {
    switch (word) {
      case protocol::Word::cts:
        return sender_->cts;
      case protocol::Word::fin:
        return sender_->fin;
      case protocol::Word::pull:
        return sender_->pull;
      case protocol::Word::push:
        return sender_->push;
      case protocol::Word::claim:
        return sender_->claim;
      case protocol::Word::rts:
        return receiver_->rts;
      case protocol::Word::done:
        return receiver_->done;
      case protocol::Word::sender_closed:
        return receiver_->closed;
      case protocol::Word::receiver_closed:
        break;
    }
    return sender_->closed;
  }
  std::uint64_t& flag_at(unsigned slot, std::uint32_t line) const noexcept {
    return *reinterpret_cast<std::uint64_t*>(line_at(slot, line) + payload);
  }

  SenderBlock* sender_;
  ReceiverBlock* receiver_;
  std::byte* buffer_;
  std::byte* lines_at_;
  std::size_t slot_bytes_;
  std::uint32_t lines_;
  std::uint32_t slots_;
  std::size_t tail_;  // bytes in the last line
  std::size_t bytes_;
  Parts parts_;
  RemoteMemory other_;
  int copy_error_ = 0;
  bool checks_ready_;
  datatype::Walk walk_;
  datatype::SegmentView other_segments_;
};

static_assert(protocol::Port<HostPort<cache_line>> && protocol::SharesCopies<HostPort<cache_line>>);

}  // namespace penstock::peer
