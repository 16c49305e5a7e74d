// SPDX-License-Identifier: Apache-2.0
// Blocks of one kernel that leave while they wait, in every interleaving of the shipped code's
// accesses, and with what they wait for coming in any order: each part is done exactly once, one
// block stays until all have been done, the word is zero at the end, and at any time all blocks but
// one make room as long as nothing more comes. The word is one, and changed by compare-and-exchange
// alone, so it has one order of values, and an interleaving of them is all there is.
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
constexpr unsigned most_parts = 5;

// Of a ring each block waits for its own parts, one after the other. Of a rendezvous the first one
// leads: it waits for all parts, and once one has come it cannot begin anew.
enum class Kind : std::uint8_t { ring, rendezvous };

enum class Defect : std::uint8_t {
  none,
  leaves_without_a_stayer,
  stayer_ends_without_a_poll,
  takes_without_clearing,
  only_the_first_stays,                // of a ring
  leaves_before_its_first_part_alone,  // of a ring
  begins_with_its_first_part,          // of a ring
  leader_does_not_stay                 // once it cannot begin anew
};

// A call of the shipped code ends at its first exchange that fails, and is begun anew: so a call
// that succeeds is one step, at the moment of its exchange.
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

// What a block does next.
enum class At : std::uint8_t { looks, stays, ended };

struct State {
  std::uint64_t word = 0;
  std::array<At, most_blocks> at{};
  std::array<std::uint8_t, most_blocks> duty{};
  std::array<std::uint8_t, most_blocks> part{};  // of its duty, which each block does next
  std::array<std::uint8_t, most_parts> done{};   // how often each part has been done
  std::uint8_t come = 0;                         // of which parts what is waited for has come
  auto operator<=>(const State&) const = default;
};

class Search {
 public:
  Search(unsigned blocks, unsigned parts, Kind kind, Defect defect)
      : blocks_(blocks), parts_(parts), kind_(kind), defect_(defect) {}

  // Empty, or what is wrong.
  std::string run() {
    State first;
    for (unsigned i = 0; i < blocks_; ++i) begin(first, i, i);
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
  unsigned all() const { return (1u << parts_) - 1; }

  void begin(State& state, unsigned block, unsigned duty) {
    state.duty[block] = static_cast<std::uint8_t>(duty);
    const unsigned part =
        defect_ == Defect::begins_with_its_first_part
            ? duty
            : first_part(duty, blocks_, parts_, [&](unsigned i) { return state.done[i]; });
    state.part[block] = static_cast<std::uint8_t>(part);
  }

  void go_on(const State& state) {
    bool over = true;
    for (unsigned part = 0; part < parts_; ++part) {
      if ((state.come >> part & 1) != 0) continue;
      State later = state;
      later.come |= static_cast<std::uint8_t>(1u << part);
      visit(later);
    }
    for (unsigned block = 0; block < blocks_; ++block) {
      if (state.at[block] == At::ended) continue;
      over = false;
      State next = state;
      if (act(next, block)) visit(next);
      next = state;
      if (state.at[block] == At::looks && ask_to_leave(next, block)) visit(next);
    }
    if (over && state.come == all()) check_end(state);
    check_room(state);
  }

  bool has_come(const State& state, unsigned part) const {
    if (kind_ == Kind::rendezvous && part == 0) return state.come == all();
    return (state.come >> part & 1) != 0;
  }
  bool may_stay(unsigned block) const {
    return block == 0 || (kind_ == Kind::ring && defect_ != Defect::only_the_first_stays);
  }

  // False: nothing has changed.
  bool ask_to_leave(State& state, unsigned block) {
    OneWord word{state.word};
    if (kind_ == Kind::rendezvous && block == 0 && state.come != 0) {
      const bool stays_now = defect_ != Defect::leader_does_not_stay && stay(word);
      if (stays_now) state.at[block] = At::stays;
      return stays_now;
    }
    if (defect_ == Defect::leaves_before_its_first_part_alone && state.part[block] != block)
      return false;
    Answer answer = leave(word, block, may_stay(block));
    if (defect_ == Defect::leaves_without_a_stayer && answer == Answer::wait) {
      state.word |= std::uint64_t{2} << block;
      answer = Answer::leave;
    }
    if (answer == Answer::leave) state.at[block] = At::ended;
    if (answer == Answer::stay) {
      state.at[block] = At::stays;
      begin(state, block, block);
    }
    return answer != Answer::wait;
  }

  // Does the part at hand, and ends the duty behind its last one. False: what the part waits for
  // has not come.
  bool act(State& state, unsigned block) {
    std::uint8_t& part = state.part[block];
    if (!has_come(state, part)) return false;
    if (++state.done[part] > 1) fail("a part is done twice");
    if (part + blocks_ < parts_) {
      part = static_cast<std::uint8_t>(part + blocks_);
      return true;
    }
    if (state.at[block] == At::looks) {
      state.at[block] = At::ended;
      return true;
    }
    OneWord word{state.word};
    const std::uint64_t before = state.word;
    int duty = next(word);
    if (defect_ == Defect::stayer_ends_without_a_poll) {
      state.word = before & ~stays;
      duty = no_duty;
    }
    if (defect_ == Defect::takes_without_clearing && duty != no_duty) state.word = before;
    if (duty == no_duty)
      state.at[block] = At::ended;
    else
      begin(state, block, static_cast<unsigned>(duty));
    return true;
  }

  // Nothing more comes, and all are asked until nothing changes.
  void check_room(State state) {
    for (bool changed = true; changed && fault_.empty();) {
      changed = false;
      for (unsigned block = 0; block < blocks_; ++block) {
        if (state.at[block] == At::ended) continue;
        const bool acts = act(state, block);
        changed = changed || acts || (state.at[block] == At::looks && ask_to_leave(state, block));
      }
    }
    unsigned left = 0;
    for (unsigned block = 0; block < blocks_; ++block) left += state.at[block] != At::ended ? 1 : 0;
    if (left > 1) fail("blocks that wait make no room");
  }

  void check_end(const State& state) {
    for (unsigned part = 0; part < parts_; ++part)
      if (state.done[part] != 1) return fail("a part is not done");
    if (state.word != 0) fail("the word is not zero for the next kernel");
  }

  void fail(const char* what) { fault_ = what; }

  unsigned blocks_;
  unsigned parts_;
  Kind kind_;
  Defect defect_;
  std::string fault_;
  std::set<State> seen_;
  std::vector<State> open_;
};

TEST(Relief, EachPartIsDoneOnceAndAllButOneMakeRoom) {
  const auto expect_right = [](unsigned blocks, unsigned parts, Kind kind) {
    Search search(blocks, parts, kind, Defect::none);
    EXPECT_EQ(search.run(), "") << blocks << " blocks, " << parts << " parts";
    EXPECT_GT(search.states(), parts);
  };
  for (unsigned blocks = 1; blocks <= most_blocks; ++blocks) {
    for (unsigned parts = blocks; parts <= most_parts; ++parts)
      expect_right(blocks, parts, Kind::ring);
    expect_right(blocks, blocks, Kind::rendezvous);
  }
}

TEST(Relief, PlantedDefectsAreFound) {
  const auto found = [](unsigned parts, Kind kind, Defect defect) {
    return Search(3, parts, kind, defect).run();
  };
  for (const Kind kind : {Kind::ring, Kind::rendezvous}) {
    EXPECT_NE(found(3, kind, Defect::stayer_ends_without_a_poll), "");
    EXPECT_NE(found(3, kind, Defect::takes_without_clearing), "");
  }
  EXPECT_NE(found(3, Kind::rendezvous, Defect::leaves_without_a_stayer), "");
  EXPECT_EQ(found(5, Kind::ring, Defect::begins_with_its_first_part), "a part is done twice");
  EXPECT_EQ(found(3, Kind::ring, Defect::only_the_first_stays), "blocks that wait make no room");
  EXPECT_EQ(found(5, Kind::ring, Defect::leaves_before_its_first_part_alone),
            "blocks that wait make no room");
  EXPECT_EQ(found(3, Kind::rendezvous, Defect::leader_does_not_stay),
            "blocks that wait make no room");
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
