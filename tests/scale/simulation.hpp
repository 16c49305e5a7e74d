// SPDX-License-Identifier: Apache-2.0
// Matches of many simulated ranks: all that they cost, and whether each is right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "scale/graph.hpp"
#include "scale/simulated_rank.hpp"

namespace penstock::scale {

struct Options {
  int ranks = 64;
  Graph graph = Graph::neighbours;
  bool wildcards = false;   // MPI_ANY_SOURCE for half of the tags, and MPI_ANY_TAG of some ranks
  bool leaves = false;      // as PST_Imatch: receives invite their senders
  bool collective = false;  // besides, one of all ranks
  int dead = 0;             // ranks that end in the middle of it
  std::size_t record_bytes = 256;  // that each end of a pair tells the other for its transport
  PostOptions post{};
  std::uint32_t seed = 1;
  // Called now and then with how many ranks have ended.
  std::function<void(int ended)> on_progress{};
};

struct Report {
  int ranks = 0;
  double most_neighbours = 0;  // letters' readers of a rank
  std::uint64_t requests = 0, matched = 0, failed = 0;
  LetterCounts letters{};
  std::uint64_t bundles = 0, bundle_bytes = 0;
  double seconds = 0;          // in matchers and mailboxes of all ranks
  double slowest_seconds = 0;  // of the rank that took most
  double simulated_us = 0;     // until all knew
  // Bytes that a rank has: before it has requests, with these, at most meanwhile, matched, freed.
  double made = 0, recorded = 0, most = 0, after = 0, freed = 0;
  std::size_t most_resident = 0;  // of the process

  double seconds_a_rank() const { return seconds / ranks; }
  double us_a_request() const {
    return requests == 0 ? 0 : seconds * 1e6 / static_cast<double>(requests);
  }
  std::uint64_t all_letters() const;
  std::uint64_t all_letter_bytes() const;
};

class Simulation {
 public:
  explicit Simulation(const Options& options);
  ~Simulation();

  // Throws std::runtime_error where ranks wait for ever, or a match is wrong.
  Report run();

 private:
  struct Member;

  void record_requests(int number);
  void hand_in(Member& member);
  void drive(Member& member);
  void hand_in_all();
  void drive_all();
  void drive_those_that_wait();
  double bytes_a_rank() const;
  void look_at_memory(std::size_t steps);
  void end_some();
  bool ended(const Member& member) const;
  template <class Step>
  void timed(Member& member, Step&& step);
  void check();
  bool is_dead(int rank) const;  // false for none
  void count(const core::MatchedRequest& request);
  static void require(bool right, int rank, const core::MatchedRequest& request);
  void check_receive(int number, const core::MatchedRequest& receive);
  void check_send(int number, const core::MatchedRequest& send);

  const Options options_;
  base::Settings settings_;
  Job job_;
  Post post_;
  Report report_;
  std::vector<Edges> edges_;
  std::vector<std::unique_ptr<Member>> members_;
  int ended_ = 0;
  std::size_t looks_ = 0;
  double before_ = 0;  // bytes that were in use without the simulation
  // Of the check: the sends that have been taken, and by receiver, sender and tag the last of them.
  std::unordered_set<std::size_t> taken_;
  std::map<std::tuple<int, int, int>, std::size_t> last_;
};

}  // namespace penstock::scale
