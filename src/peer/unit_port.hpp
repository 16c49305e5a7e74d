// SPDX-License-Identifier: Apache-2.0
// The port of host threads for the words of a channel's units: of one call, or of one look.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "peer/cross_memory.hpp"
#include "peer/units_setup.hpp"
#include "protocol/segment.hpp"

namespace penstock::peer {

class UnitPort {
 public:
  using Unit = protocol::segment::Unit;
  using UnitWord = protocol::segment::UnitWord;
  using Order = protocol::Order;

  explicit UnitPort(const UnitsSetup& setup, WhyClosed why = WhyClosed::given_up) noexcept
      : setup_(setup), why_(why) {}

  template <Order order>
  std::uint64_t load(UnitWord word, Unit unit) const noexcept {
    return std::atomic_ref(at(word, unit)).load(order);
  }
  template <Order order>
  void store(UnitWord word, Unit unit, std::uint64_t value) const noexcept {
    std::atomic_ref(at(word, unit)).store(value, order);
  }
  template <Order order>
  std::uint64_t load_closed() const noexcept {
    return std::atomic_ref(setup_.ours->closed).load(order);
  }
  template <Order order>
  void store_closed() const noexcept {
    std::atomic_ref(setup_.theirs->closed).store(static_cast<std::uint64_t>(why_), order);
  }
  // On x86 the addition is a fence by itself.
  void begin_writing() const noexcept {
    std::atomic_ref(*setup_.writing).fetch_add(1, std::memory_order_seq_cst);
#ifndef __x86_64__
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }
  template <Order order>
  void end_writing() const noexcept {
    std::atomic_ref(*setup_.writing).fetch_sub(1, order);
  }
  template <Order order>
  std::uint64_t load_writing() const noexcept {
    return std::atomic_ref(*setup_.writing).load(order);
  }
  template <Order order>
  void fence() const noexcept {
    std::atomic_thread_fence(order);
  }

  // By the sender.
  bool write(Unit unit) noexcept {
    const std::size_t first = first_byte(unit), bytes = bytes_of(unit);
    const RemoteMemory& target = setup_.target;
    if (target.process == 0) {
      std::memcpy(reinterpret_cast<std::byte*>(target.address) + unit * setup_.target_stride,
                  setup_.buffer + first, bytes);
      return true;
    }
    const bool gone = target.dead != nullptr && target.dead->load(std::memory_order_relaxed);
    const MessageMemory ours{reinterpret_cast<std::uintptr_t>(setup_.buffer)};
    error_ = gone ? ESRCH : write_process(target.process, {target.address}, ours, first, bytes);
    return error_ == 0;
  }
  int copy_error() const noexcept {
    return error_;
  }  // of write()

  // By the receiver, of a message that has arrived: into the program's buffer.
  void take_out(Unit unit) const noexcept {
    if (setup_.shadow == nullptr) return;
    std::memcpy(setup_.buffer + first_byte(unit), setup_.shadow + unit * setup_.target_stride,
                bytes_of(unit));
  }

  WhyClosed why_closed() const noexcept {
    return static_cast<WhyClosed>(load_closed<Order::acquire>());
  }

 private:
  std::size_t first_byte(Unit unit) const noexcept {
    return unit * setup_.unit_bytes;
  }
  std::size_t bytes_of(Unit unit) const noexcept {
    return std::min(setup_.unit_bytes, setup_.bytes - first_byte(unit));
  }
  std::uint64_t& at(UnitWord word, Unit unit) const noexcept {
    if (word == UnitWord::released) return setup_.released[unit];
    return *reinterpret_cast<std::uint64_t*>(setup_.arrived + unit * setup_.arrived_stride);
  }

  const UnitsSetup& setup_;
  const WhyClosed why_;
  int error_ = 0;
};

static_assert(protocol::segment::SegmentPort<UnitPort>);

}  // namespace penstock::peer
