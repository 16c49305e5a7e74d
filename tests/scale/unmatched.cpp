// SPDX-License-Identifier: Apache-2.0
#include "scale/unmatched.hpp"

#include <chrono>
#include <vector>

#include "scale/simulated_rank.hpp"

namespace penstock::scale {
namespace {

class Pair {
 public:
  explicit Pair(const UnmatchedOptions& options) : options_(options) {
    for (int i = 0; i < options.requests; ++i) {
      const int tag = options.one_tag ? 0 : 2 * i;
      sends_.push_back(&sender_.record_send(1, tag, 8));
      receives_.push_back(&receiver_.record_receive(0, tag + 1));
    }
  }

  UnmatchedTimes run() {
    UnmatchedTimes times;
    times.begin_ms = time([&] {
      receiver_.begin(std::move(receives_), options_.leaves);
      sender_.begin(std::move(sends_), options_.leaves);
      drive_all();
    });
    times.sends_ms = time([&] { sender_.matcher().give_up_matches("MPI_Finalize"); });
    times.withdrawn_ms = time([&] { drive_all(); });
    times.receives_ms = time([&] { receiver_.matcher().give_up_matches("MPI_Finalize"); });
    times.rest_ms = time([&] { drive_all(); });
    return times;
  }

 private:
  template <class Step>
  static double time(Step&& step) {
    const auto begin = std::chrono::steady_clock::now();
    step();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  }
  void drive_all() {
    for (int rank = post_.next(); rank >= 0; rank = post_.next())
      (rank == 0 ? sender_ : receiver_).matcher().drive();
  }

  const UnmatchedOptions options_;
  base::Settings settings_;
  Job job_{2};
  Post post_{2, {}, 1};
  LetterCounts counts_;
  SimulatedRank sender_{settings_, job_, post_, 0, counts_, 256};
  SimulatedRank receiver_{settings_, job_, post_, 1, counts_, 256};
  std::vector<core::MatchedRequest*> sends_, receives_;
};

}  // namespace

UnmatchedTimes end_unmatched(const UnmatchedOptions& options) {
  return Pair(options).run();
}

}  // namespace penstock::scale
