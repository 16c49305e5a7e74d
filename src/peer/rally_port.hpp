// SPDX-License-Identifier: Apache-2.0
// A member's port to the direct exchange, in shared memory. Each member has a block in its arena,
// in which each other one has a seat:
//   CLOSED of each seat | the slots of each seat, of lines with their flags
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/flag_bits.hpp"
#include "peer/control.hpp"
#include "protocol/rally.hpp"
#include "transport/group.hpp"

namespace penstock::peer {

// How what goes from a member to another lies in a slot; both know its length. One flag for as much
// as 2 KiB: shorter lines cost more flags, each of which a processor must fetch, and longer ones
// are taken too late (docs/performance.md).
inline constexpr std::size_t longest_rally_line = 2048;
inline Cut rally_cut(std::size_t bytes) noexcept {
  const std::size_t whole = (bytes + sizeof(std::uint64_t) + cache_line - 1) / cache_line;
  const std::size_t line = std::min(whole * cache_line, longest_rally_line);
  return {bytes, static_cast<std::uint32_t>(line), protocol::rally::slots, 1};
}

// The block of one member.
struct RallyBlock {
  std::byte* memory = nullptr;
  std::size_t members = 1;
  std::size_t slot_bytes = 0;  // of its longest message

  static unsigned seat(unsigned member, unsigned of) noexcept { return of - (of > member ? 1 : 0); }
  std::size_t bytes() const noexcept {
    return closed_bytes() + (members - 1) * protocol::rally::slots * slot_bytes;
  }
  std::uint64_t* closed(unsigned seat) const noexcept {
    return reinterpret_cast<std::uint64_t*>(memory) + seat;
  }
  std::byte* slots(unsigned seat) const noexcept {
    return memory + closed_bytes() + slot_bytes * seat * protocol::rally::slots;
  }

 private:
  // Apart from the busy lines: the threads that enqueue look here before every start.
  std::size_t closed_bytes() const noexcept {
    return (members * sizeof(std::uint64_t) + cache_line - 1) / cache_line * cache_line;
  }
};

class RallyPort {
 public:
  static constexpr bool may_close = true;

  // The slots that one member fills at another.
  struct Way {
    explicit Way(const Cut& cut) noexcept
        : bytes(cut.message_bytes), line_bytes(cut.line_bytes), lines(cut.lines()) {}
    std::byte* line(unsigned slot, std::uint32_t number) const noexcept {
      return slots + slot * slot_bytes + std::size_t{number} * line_bytes;
    }
    std::uint64_t& flag(unsigned slot, std::uint32_t number) const noexcept {
      return *reinterpret_cast<std::uint64_t*>(line(slot, number) + payload());
    }
    std::size_t payload() const noexcept { return line_bytes - sizeof(std::uint64_t); }
    // Of the message, where a line begins, and what it has.
    std::size_t at(std::uint32_t number) const noexcept { return number * payload(); }
    std::size_t part(std::uint32_t number) const noexcept {
      return number + 1 < lines ? payload() : bytes - at(number);
    }

    std::byte* slots = nullptr;
    std::size_t slot_bytes = 0;
    std::size_t bytes;
    std::size_t line_bytes;
    std::uint32_t lines;
  };

  // Between us and one member; of ourselves there are but the block and the ways' lengths.
  struct Route {
    explicit Route(const transport::GroupBlock& own) noexcept
        : block(own), there(rally_cut(own.bytes_to)), here(rally_cut(own.bytes_from)) {}

    transport::GroupBlock block;
    Way there, here;                        // to it, in its memory; from it, in ours
    std::uint64_t* closed_there = nullptr;  // ours, at the member
    std::uint64_t* closed_here = nullptr;
    const std::atomic<bool>* dead = nullptr;
  };

  // `combiner`: nothing where nothing is combined.
  RallyPort(std::vector<Route> routes, unsigned me, std::optional<transport::Combiner> combiner)
      : routes_(std::move(routes)), me_(me), combiner_(combiner) {
    for (const Route& route : routes_)
      most_lines_ = std::max({most_lines_, route.there.lines, route.here.lines});
  }

  unsigned members() const noexcept { return static_cast<unsigned>(routes_.size()); }
  unsigned me() const noexcept { return me_; }
  std::uint32_t lines_to(unsigned member) const noexcept { return routes_[member].there.lines; }
  std::uint32_t lines_from(unsigned member) const noexcept { return routes_[member].here.lines; }
  std::uint32_t most_lines() const noexcept { return most_lines_; }
  static constexpr unsigned flag_bits() noexcept { return PENSTOCK_FLAG_BITS; }

  void fill(unsigned member, unsigned slot, std::uint32_t line) noexcept {
    const Route& route = routes_[member];
    copy(route.there.line(slot, line), route.block.from + route.there.at(line),
         route.there.part(line));
  }
  void store_flag(unsigned member, unsigned slot, std::uint32_t line, std::uint64_t flag) noexcept {
    std::atomic_ref(routes_[member].there.flag(slot, line)).store(flag, std::memory_order_release);
  }
  std::uint64_t load_flag(unsigned member, unsigned slot, std::uint32_t line) const noexcept {
    return std::atomic_ref(routes_[member].here.flag(slot, line)).load(std::memory_order_acquire);
  }
  // In place, what is ours is read before the result of its line is stored over it.
  void take(unsigned member, unsigned slot, std::uint32_t line) noexcept {
    const Route& route = routes_[member];
    const std::size_t at = route.here.at(line), bytes = route.here.part(line);
    const std::byte* const from =
        member == me_ ? route.block.from + at : route.here.line(slot, line);
    if (combiner_)
      add(member, from, bytes, route.block.to + at);
    else
      copy(route.block.to + at, from, bytes);
  }

  // A dead member has closed, though it cannot say so.
  std::uint64_t load_closed(unsigned member) const noexcept {
    if (is_dead(member)) return 1;
    return std::atomic_ref(*routes_[member].closed_here).load(std::memory_order_acquire);
  }
  void store_closed(unsigned member, std::uint64_t value) noexcept {
    std::atomic_ref(*routes_[member].closed_there).store(value, std::memory_order_release);
  }
  // Acquire: all that it has stored.
  bool is_dead(unsigned member) const noexcept {
    return routes_[member].dead->load(std::memory_order_acquire);
  }

 private:
  // Ours, in place, lie where they belong.
  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
  }
  // The last one's is the result.
  void add(unsigned member, const std::byte* from, std::size_t bytes, std::byte* to) noexcept {
    if (member == 0)
      combiner_->first(sum_, from, bytes);
    else
      combiner_->next(sum_, from, bytes);
    if (member + 1 == members()) combiner_->last(to, sum_, bytes);
  }

  std::vector<Route> routes_;
  unsigned me_;
  std::optional<transport::Combiner> combiner_;
  std::uint32_t most_lines_ = 1;
  alignas(cache_line) std::byte sum_[longest_rally_line * transport::Combiner::most_widening] = {};
};

static_assert(protocol::rally::Port<RallyPort>);

}  // namespace penstock::peer
