// SPDX-License-Identifier: Apache-2.0
// Blocks of one kernel that leave while they wait, in every interleaving of the shipped code's accesses: each duty is
// done exactly once, one block stays until all have been done, and the word is zero at the end. The word is one, and
// changed by compare-and-exchange alone, so it has one order of values, and an interleaving of them is all there is.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "protocol/relief.hpp"

namespace penstock::protocol::relief {
namespace {

constexpr unsigned most_blocks = 4;

enum class Defect : std::uint8_t { none, leaves_without_a_stayer, stayer_ends_without_a_look, takes_without_clearing };

// A call of the shipped code ends at its first exchange that fails, and is begun anew: so a call that succeeds is one
// step, at the moment of its exchange.
struct OneWord {
  std::uint64_t& value;
  std::uint64_t load() const { return value; }
  bool exchange_if(std::uint64_t& expected, std::uint64_t desired) const {
    if (value != expected) {
      expected = value;
      return false;
    }
    value = desired;
    return true;
  }
};

// What a block does next. Its own duty may end at any time while it looks, as what it waits for may come.
enum class At : std::uint8_t { looks, stays, ended };

struct State {
  std::uint64_t word = 0;
  std::array<At, most_blocks> at{};
  std::array<std::uint8_t, most_blocks> duty{};
  std::array<std::uint8_t, most_blocks> done{};  // how often each duty has been done
  auto operator<=>(const State&) const = default;
};

class Search {
 public:
  Search(unsigned blocks, unsigned leaders, Defect defect) : blocks_(blocks), leaders_(leaders), defect_(defect) {}

  // Empty, or what is wrong.
  std::string run() {
    State first;
    for (unsigned i = 0; i < blocks_; ++i) first.duty[i] = static_cast<std::uint8_t>(i);
    visit(first);
    while (!open_.empty() && fault_.empty()) {
      const State state = open_.back();
      open_.pop_back();
      go_on(state);
    }
    return fault_;
  }
  std::size_t states() const { return seen_.size(); }

 private:
  void visit(const State& state) {
    if (seen_.insert(state).second) open_.push_back(state);
  }

  void go_on(const State& state) {
    bool over = true;
    for (unsigned block = 0; block < blocks_; ++block) {
      if (state.at[block] == At::ended) continue;
      over = false;
      if (state.at[block] == At::looks) ask_to_leave(state, block);
      finish(state, block);
    }
    if (over) check_end(state);
  }

  void ask_to_leave(State state, unsigned block) {
    OneWord word{state.word};
    Answer answer = leave(word, block, block < leaders_);
    if (defect_ == Defect::leaves_without_a_stayer && answer == Answer::wait) {
      state.word |= std::uint64_t{2} << block;
      answer = Answer::leave;
    }
    if (answer == Answer::leave) state.at[block] = At::ended;
    if (answer == Answer::stay) state.at[block] = At::stays;
    visit(state);
  }

  void finish(State state, unsigned block) {
    if (++state.done[state.duty[block]] > 1) return fail("a duty is done twice");
    if (state.at[block] == At::looks) {
      state.at[block] = At::ended;
      return visit(state);
    }
    OneWord word{state.word};
    const std::uint64_t before = state.word;
    int duty = next(word);
    if (defect_ == Defect::stayer_ends_without_a_look) {
      state.word = before & ~stays;
      duty = no_duty;
    }
    if (defect_ == Defect::takes_without_clearing && duty != no_duty) state.word = before;
    if (duty == no_duty)
      state.at[block] = At::ended;
    else
      state.duty[block] = static_cast<std::uint8_t>(duty);
    visit(state);
  }

  void check_end(const State& state) {
    for (unsigned duty = 0; duty < blocks_; ++duty)
      if (state.done[duty] != 1) return fail("a duty is not done");
    if (state.word != 0) fail("the word is not zero for the next kernel");
  }

  void fail(const char* what) { fault_ = what; }

  unsigned blocks_, leaders_;
  Defect defect_;
  std::string fault_;
  std::set<State> seen_;
  std::vector<State> open_;
};

TEST(Relief, EachDutyIsDoneOnceWhoeverLeaves) {
  for (unsigned blocks = 1; blocks <= most_blocks; ++blocks)
    for (unsigned leaders = 1; leaders <= blocks; ++leaders) {
      Search search(blocks, leaders, Defect::none);
      EXPECT_EQ(search.run(), "") << blocks << " blocks, " << leaders << " may stay";
      EXPECT_GT(search.states(), blocks);
    }
}

TEST(Relief, PlantedDefectsAreFound) {
  for (const Defect defect :
       {Defect::leaves_without_a_stayer, Defect::stayer_ends_without_a_look, Defect::takes_without_clearing})
    EXPECT_NE(Search(3, 1, defect).run(), "") << static_cast<int>(defect);
}

TEST(Relief, DutiesBeyondTheWordStay) {
  std::uint64_t value = stays;
  OneWord word{value};
  EXPECT_EQ(leave(word, most_duties - 1, false), Answer::leave);
  EXPECT_EQ(leave(word, most_duties, false), Answer::wait);
  EXPECT_EQ(next(word), static_cast<int>(most_duties - 1));
  EXPECT_EQ(next(word), no_duty);
  EXPECT_EQ(value, 0u);
}

}  // namespace
}  // namespace penstock::protocol::relief
