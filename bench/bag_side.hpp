// SPDX-License-Identifier: Apache-2.0
// Messages that their receiver takes as they come, by one library: what bench bag compares.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock::bench {

struct BagTraffic {
  // latency: rank 0 and 1 send each other a message in turn; rate: all others send to rank 0; pool:
  // they send it results, which take them as long as chance will have it, and which it uses.
  enum class Shape : std::uint8_t { latency, rate, pool };

  Shape shape = Shape::rate;
  std::size_t bytes = 8;
  int slots = 8;  // of each source: as many of its messages are under way
  int rank = 0, ranks = 2;
  double work_us = 0;  // of a result, on average

  bool takes_part() const { return shape != Shape::latency || rank < 2; }
  bool leads() const { return rank == 0; }
  // Whose messages this rank takes; and who takes its own, -1 for nobody.
  std::vector<int> sources() const;
  int destination() const;
};

class BagSide {
 public:
  BagSide(std::string name, const BagTraffic& traffic);
  virtual ~BagSide() = default;

  const std::string& name() const { return name_; }
  // So many messages of each source, or round trips, behind a warm-up. Collective; returns what
  // they took on this rank, in us.
  virtual double run_round(int messages) = 0;

  // While set, messages are filled, and compared as they come.
  void check(bool checking) { checking_ = checking; }
  // Bytes of theirs that were wrong.
  std::size_t wrong() const { return wrong_; }

 protected:
  const BagTraffic& traffic() const { return traffic_; }
  bool checking() const { return checking_; }
  // Message `number` of this rank, and of that source.
  void fill(std::byte* message, std::uint64_t number) const;
  void compare(const std::byte* message, std::size_t bytes, int source, std::uint64_t number);
  // Of a pool: computes a result, for a time out of a sequence that is one for all libraries; and
  // uses one.
  bool works() const { return traffic_.shape == BagTraffic::Shape::pool; }
  void work();
  void use(const std::byte* message, std::size_t bytes);
  // The next message of that source, where they come in order.
  std::uint64_t next_of(int source) { return next_[static_cast<std::size_t>(source)]++; }

 private:
  const std::string name_;
  const BagTraffic traffic_;
  bool checking_ = false;
  std::size_t wrong_ = 0;
  std::uint64_t results_ = 0;        // computed
  volatile std::uint64_t used_ = 0;  // what the uses come to
  std::vector<std::uint64_t> next_;  // by source
};

// bag; pairs, of a latency alone, a matched pair each way; mpi-any-source, MPI_Irecv from
// MPI_ANY_SOURCE, as many as there are slots, and MPI_Waitany.
inline constexpr std::array bag_libraries{"bag", "pairs", "mpi-any-source"};
// Returns null, with the reason, where the library cannot do this. Collective.
std::unique_ptr<BagSide> make_bag_side(const std::string& library, const BagTraffic& traffic,
                                       std::string& why_not);

}  // namespace penstock::bench
