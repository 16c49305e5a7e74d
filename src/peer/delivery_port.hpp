// SPDX-License-Identifier: Apache-2.0
// A member's port to deliveries: words in shared memory, and copies right into the others' buffers.
// Each member has a block in its arena, in which each other one has a seat.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "peer/control.hpp"
#include "peer/copy_error.hpp"
#include "peer/cross_memory.hpp"
#include "peer/exposed_memory.hpp"
#include "protocol/delivery.hpp"
#include "transport/group.hpp"

namespace penstock::peer {

// At one member, for another one, which alone stores the words. CLOSED has a line apart from the
// busy one: the threads that enqueue look at it before every start.
struct alignas(cache_line) DeliverySeat {
  std::uint64_t cts;   // the other's buffer may be written
  std::uint64_t done;  // this member's has been
  alignas(cache_line) std::uint64_t closed;
  std::uint64_t offset;  // in this member's memory, where the other's block goes; fixed at match
};
static_assert(sizeof(DeliverySeat) == 2 * cache_line);

class DeliveryPort {
 public:
  // Between us and one member; of ourselves there are the block and where it goes alone.
  struct Route {
    transport::GroupBlock block;
    std::byte* aside = nullptr;  // in place: where what goes to it is kept
    RemoteMemory target;         // where what goes to it goes
    DeliverySeat* there = nullptr;
    DeliverySeat* here = nullptr;
    const std::atomic<bool>* dead = nullptr;
    int rank = -1;  // in the world
    protocol::Epoch served = 0;
  };

  // `between_barriers`: in one batch. `aside`: the memory of all routes'.
  DeliveryPort(std::vector<Route> routes, unsigned me, bool between_barriers,
               std::shared_ptr<const std::byte[]> aside)
      : routes_(std::move(routes)),
        me_(me),
        between_barriers_(between_barriers),
        aside_(std::move(aside)) {}

  // For who only looks at words from now on.
  DeliveryPort without_aside() const { return {routes_, me_, between_barriers_, nullptr}; }

  unsigned members() const noexcept { return static_cast<unsigned>(routes_.size()); }
  unsigned me() const noexcept { return me_; }
  bool between_barriers() const noexcept { return between_barriers_; }
  unsigned batch() const noexcept { return between_barriers_ ? members() - 1 : 1; }
  bool sends_to(unsigned member) const noexcept {
    return between_barriers_ || routes_[member].block.bytes_to != 0;
  }
  bool takes_from(unsigned member) const noexcept {
    return between_barriers_ || routes_[member].block.bytes_from != 0;
  }

  void set_aside() noexcept {
    for (const Route& route : routes_)
      if (route.aside != nullptr && route.block.bytes_to != 0)
        std::memcpy(route.aside, route.block.from, route.block.bytes_to);
  }
  void copy(unsigned member) noexcept {
    const Route& route = routes_[member];
    const std::byte* const from = route.aside != nullptr ? route.aside : route.block.from;
    const int error = put(route.target, from, route.block.bytes_to);
    if (error == 0) return;
    error_ = error;
    failed_rank_ = route.rank;
  }
  void copy_own() noexcept { copy(me_); }
  bool copy_failed() const noexcept { return error_ != 0; }
  base::Error copy_error() const { return peer::copy_error(failed_rank_, error_); }

  protocol::Epoch served(unsigned member) const noexcept { return routes_[member].served; }
  void set_served(unsigned member, protocol::Epoch epoch) noexcept {
    routes_[member].served = epoch;
  }

  void store_cts(unsigned member, protocol::Epoch epoch) noexcept {
    store(routes_[member].there->cts, epoch);
  }
  void store_done(unsigned member, protocol::Epoch epoch) noexcept {
    store(routes_[member].there->done, epoch);
  }
  void store_closed(unsigned member, std::uint64_t value) noexcept {
    store(routes_[member].there->closed, value);
  }
  protocol::Epoch load_cts(unsigned member) const noexcept {
    return load(routes_[member].here->cts);
  }
  protocol::Epoch load_done(unsigned member) const noexcept {
    return load(routes_[member].here->done);
  }
  // A dead member has closed, though it cannot say so.
  std::uint64_t load_closed(unsigned member) const noexcept {
    return is_dead(member) ? 1 : load(routes_[member].here->closed);
  }
  // Acquire: all that it has stored.
  bool is_dead(unsigned member) const noexcept {
    return routes_[member].dead->load(std::memory_order_acquire);
  }
  static void fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }

 private:
  static std::uint64_t load(const std::uint64_t& word) noexcept {
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
  }
  static void store(std::uint64_t& word, std::uint64_t value) noexcept {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }
  // Returns 0 or the errno. Ours, in place, lie where they belong.
  static int put(const RemoteMemory& to, const std::byte* from, std::size_t bytes) noexcept {
    if (bytes == 0) return 0;
    if (to.process != 0) {
      if (to.dead->load(std::memory_order_relaxed)) return ESRCH;
      return write_process(to.process, {to.address}, {reinterpret_cast<std::uintptr_t>(from)}, 0,
                           bytes);
    }
    auto* const target = reinterpret_cast<std::byte*>(to.address);
    if (target != from) std::memcpy(target, from, bytes);
    return 0;
  }

  std::vector<Route> routes_;
  unsigned me_;
  bool between_barriers_;
  std::shared_ptr<const std::byte[]> aside_;
  int error_ = 0;
  int failed_rank_ = -1;
};

static_assert(protocol::delivery::Port<DeliveryPort>);

}  // namespace penstock::peer
