// SPDX-License-Identifier: Apache-2.0
// Ping-pong of a buffer that travels in units, by one library: what bench channel compares.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <penstock/penstock.hpp>
#include <string>

namespace penstock::bench {

// What goes one way in half a round trip, for each thread.
struct UnitTraffic {
  std::size_t bytes = 0;  // of all units
  std::size_t units = 1;
  std::size_t puts = 1;   // calls of the sender, each of as many units
  std::size_t takes = 1;  // and of the receiver
  std::size_t threads = 1;

  std::size_t unit_bytes() const { return bytes / units; }
  std::size_t all_units() const { return units * threads; }
  std::size_t all_bytes() const { return bytes * threads; }
};

struct UnitRange {
  std::size_t first, count;
};

struct TripTimes {
  double half_us = 0;     // half a round trip in which every thread has had its own
  double release_us = 0;  // of all that a receiver gives back in it
};

class ChannelSide {
 public:
  ChannelSide(std::string name, const UnitTraffic& traffic, int rank);
  virtual ~ChannelSide() = default;

  const std::string& name() const { return name_; }
  virtual std::string transport() const { return {}; }  // Penstock's
  // A warm-up and this many round trips, of both ranks. `releases`: what a release takes is asked
  // for, which costs more than it tells. Collective; the times are those of this rank.
  virtual TripTimes run_round(int trips, bool releases) = 0;

  // Bytes by sender, place and step; and how many of what has come are wrong.
  void fill(std::uint64_t step);
  std::size_t count_wrong(std::uint64_t step) const;

 protected:
  const UnitTraffic& traffic() const { return traffic_; }
  int rank() const { return rank_; }
  int peer() const { return 1 - rank_; }
  std::span<std::byte> sent(UnitRange units) { return part_of(outgoing_, units); }
  std::span<std::byte> received(UnitRange units) { return part_of(incoming_, units); }
  // The units of a thread, and those of one of its calls.
  UnitRange units_of(std::size_t thread) const { return {thread * traffic_.units, traffic_.units}; }
  UnitRange call_of(std::size_t thread, std::size_t call, std::size_t calls) const {
    const std::size_t each = traffic_.units / calls;
    return {thread * traffic_.units + call * each, each};
  }

 private:
  std::span<std::byte> part_of(Buffer<std::byte>& buffer, UnitRange units) const {
    return buffer.all().subspan(units.first * traffic_.unit_bytes(),
                                units.count * traffic_.unit_bytes());
  }

  const std::string name_;
  const UnitTraffic traffic_;
  const int rank_;
  Buffer<std::byte> outgoing_, incoming_;
};

// channel, a channel each way of as many units; pairs, a matched pair for each unit; mpi, a
// persistent request of MPI's for each unit; mpi-partitioned, one each way with a partition for
// each unit.
inline constexpr std::array channel_libraries{"channel", "pairs", "mpi", "mpi-partitioned"};
// Returns null, with the reason, where the library cannot do this. Collective; all ranks get the
// same.
std::unique_ptr<ChannelSide> make_channel_side(const std::string& library,
                                               const UnitTraffic& traffic, int rank,
                                               std::string& why_not);

}  // namespace penstock::bench
