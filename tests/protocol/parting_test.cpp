// SPDX-License-Identifier: Apache-2.0
// The words of a half serve another pair only when nothing can reach them any more: the decisions
// of protocol/parting.hpp in every order in which a network may deliver, and a provider may take,
// what two halves say to each other. An operation that finds no room is one that is issued later,
// so that every delay is among the orders.
//
// Two pairs use the same words, one after the other: both processes have room for one half. The
// sender sends up to `slots` + 1 messages, each half is freed after any number of waits, and the
// receiver's wait may be released.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "protocol/parting.hpp"
#include "protocol/state_search.hpp"

namespace penstock::protocol {
namespace {

using Small = std::uint8_t;
constexpr Small pairs = 2;
constexpr Small none = 255;

// What the shipped code decides; planted defects take other decisions.
struct Rules {
  bool (*may_part)(const Credits&, Epoch, bool, bool) = protocol::may_part;
  bool (*words_are_free)(std::uint64_t, std::uint64_t, Epoch) = protocol::words_are_free;
  bool credits_after_failure = true;
  // Nothing forbids them: may_part() sees to it that none is left.
  bool credits_after_notice = true;
  bool reports_are_awaited = true;
};

// ---- The state: bytes alone, so that states can be compared and kept as they lie in memory

// What a process has in the words of its one half.
struct Words {
  Small owner = none;  // the pair
  Small consumed = 0, closed = 0, parting = 0, taken = 0, seen = 0;
};

// A half that is under way: where its program stands, and what the transport still has to do.
struct Half {
  Small started = 0, waited = 0;
  Small arrived = 0;  // receiver: messages, a bit each
  Small given = 0;    // receiver: credits
  Small questions = 0;
  Small asking = 0;
  Small reports = 0;  // that the provider owes
  Small failed = 0, released = 0, notice = 0, told = 0;
};

enum class Kind : Small { nothing, data, credit, closed, parting, question, answer, report };
enum Side : Small { sender, receiver };

// On its way to the process on `side`.
struct Item {
  Kind kind = Kind::nothing;
  Small side = sender, pair = 0, value = 0;
  auto operator<=>(const Item&) const = default;
};

struct State {
  std::array<Words, 2> words{};
  std::array<Half, 2> halves{};
  Small matched = 0;               // pairs so far
  std::array<Item, 14> network{};  // sorted
};

class Model : public StateSearch<State> {
 public:
  Model(const Rules& rules, Small slots)
      : rules_(rules), slots_(slots), messages_(static_cast<Small>(slots + 1)) {}

  // What has happened in some order: without these the search would show nothing.
  const std::set<std::string>& happened() const { return happened_; }

 private:
  void step() override {
    match();
    for (const Side side : {sender, receiver}) {
      if (now_.words[side].owner == none) continue;
      run_program(side);
      say_what_is_owed(side);
      reap(side);
    }
    for (std::size_t i = 0; i < now_.network.size(); ++i)
      if (now_.network[i].kind != Kind::nothing) deliver(i);
  }

  bool may_end() const override {
    return now_.matched == pairs && now_.words[0].owner == none && now_.words[1].owner == none &&
           now_.network.back().kind == Kind::nothing;
  }

  // ---- What happens

  void match() {
    if (now_.matched == pairs || now_.words[sender].owner != none ||
        now_.words[receiver].owner != none)
      return;
    State next = now_;
    for (const Side side : {sender, receiver}) {
      next.words[side] = {};
      next.words[side].owner = now_.matched;
      next.halves[side] = {};
    }
    ++next.matched;
    go(next);
  }

  void run_program(Side side) {
    const Half& half = now_.halves[side];
    if (half.released) return;
    if (half.started == half.waited) release(side);
    if (half.failed) return;
    if (side == sender)
      run_sender();
    else
      run_receiver();
  }

  bool room(Epoch epoch) const {
    const Words& words = now_.words[sender];
    return std::max(words.consumed, words.seen) + slots_ >= epoch;
  }
  bool closed_here(Side side, Epoch epoch) const {
    return closed_before(now_.words[side].closed, epoch);
  }

  void run_sender() {
    const Half& half = now_.halves[sender];
    const auto epoch = static_cast<Small>(half.waited + 1);
    if (half.started == half.waited) {
      if (half.started == messages_) return;
      if (closed_here(sender, epoch)) return fail(sender);
      const Small pair = now_.words[sender].owner;
      if (now_.words[receiver].owner == pair && now_.words[receiver].taken + slots_ < epoch)
        return fault("a message overwrites one that has not been taken");
      State next = now_;
      ++next.halves[sender].started;
      put(next, {Kind::data, receiver, pair, epoch});
      go(next);
      return;
    }
    if (closed_here(sender, epoch)) fail(sender);
    if (half.questions == 0 && !room(epoch + 1u)) ask();
    // Delivered, and room for the next one.
    if (!room(epoch + 1u) || is_on_its_way({Kind::data, receiver, now_.words[sender].owner, epoch}))
      return;
    State next = now_;
    ++next.halves[sender].waited;
    go(next);
  }

  void ask() {
    State next = now_;
    Half& half = next.halves[sender];
    ++half.questions;
    half.asking = 1;
    put(next, {Kind::question, receiver, now_.words[sender].owner, 0});
    go(next);
  }

  void run_receiver() {
    const Half& half = now_.halves[receiver];
    const auto epoch = static_cast<Small>(half.waited + 1);
    State next = now_;
    if (half.started == half.waited) {
      if (half.started == messages_) return;
      ++next.halves[receiver].started;
      go(next);
      return;
    }
    fail(receiver);  // released by a time-out, or as the sender is gone
    if ((half.arrived >> epoch & 1) == 0 || closed_here(receiver, epoch)) return;
    ++next.halves[receiver].waited;
    next.words[receiver].taken = epoch;
    go(next);
  }

  // The wait, or the start, fails: the peer is told which epoch is not served.
  void fail(Side side) {
    happened_.insert(side == sender ? "a send fails" : "a receive fails");
    State next = now_;
    Half& half = next.halves[side];
    half.failed = 1;
    half.started = half.waited;
    tell(half);
    go(next);
  }
  void release(Side side) {
    State next = now_;
    Half& half = next.halves[side];
    half.released = 1;
    tell(half);
    go(next);
  }
  static void tell(Half& half) {
    if (half.notice == 0) half.notice = static_cast<Small>(half.waited + 1);
  }

  void say_what_is_owed(Side side) {
    const Half& half = now_.halves[side];
    const Epoch taken = now_.words[side].taken;
    const Credits credits{half.given, half.failed != 0 && !rules_.credits_after_failure};
    const Side there = side == sender ? receiver : sender;
    const Small pair = now_.words[side].owner;
    if (side == receiver && credits.owed(taken) &&
        (half.told == 0 || rules_.credits_after_notice)) {
      State next = now_;
      ++next.halves[side].given;
      ++next.halves[side].reports;
      put(next, {Kind::credit, there, pair, 0});
      put(next, {Kind::report, side, pair, 0});
      go(next);
    }
    const bool writing = side == sender && half.failed != 0 && writes(pair);
    if (half.notice != 0 && half.told == 0 &&
        rules_.may_part(credits, taken, half.asking != 0, writing)) {
      State next = now_;
      next.halves[side].told = 1;
      ++next.halves[side].reports;
      put(next, {Kind::closed, there, pair, half.notice});
      put(next, {Kind::parting, there, pair, static_cast<Small>(parting_word(credits))});
      put(next, {Kind::report, side, pair, 0});
      go(next);
    }
  }

  void reap(Side side) {
    const Half& half = now_.halves[side];
    const Words& words = now_.words[side];
    if (half.released == 0 || half.told == 0 || half.asking != 0) return;
    if (rules_.reports_are_awaited && half.reports != 0) return;
    if (!rules_.words_are_free(words.closed, words.parting, words.consumed)) return;
    State next = now_;
    next.words[side] = {};
    go(next);
  }

  void deliver(std::size_t index) {
    State next = now_;
    const Item item = now_.network[index];
    next.network[index] = {};
    Words& words = next.words[item.side];
    Half& half = next.halves[item.side];
    const bool here = words.owner == item.pair;
    // Its region is closed, so that it finds no place.
    if (!here && item.kind == Kind::data) return go(next);
    if (!here) return fault(name(item.kind) + " comes to words that serve another pair, or none");
    switch (item.kind) {
      case Kind::data:
        half.arrived = static_cast<Small>(half.arrived | 1 << item.value);
        break;
      case Kind::credit:
        if (words.closed != 0) happened_.insert("a credit comes after the notice");
        ++words.consumed;
        break;
      case Kind::closed:
        words.closed = item.value;
        break;
      case Kind::parting:
        words.parting = item.value;
        break;
      case Kind::question:
        put(next, {Kind::answer, sender, item.pair, words.taken});
        break;
      case Kind::answer:
        words.seen = item.value;
        half.asking = 0;
        break;
      case Kind::report:
        --half.reports;
        break;
      case Kind::nothing:
        break;
    }
    go(next);
  }

  static std::string name(Kind kind) {
    switch (kind) {
      case Kind::credit:
        return "a credit";
      case Kind::closed:
      case Kind::parting:
        return "a notice";
      case Kind::question:
        return "a question";
      default:
        return "a report";
    }
  }

  // ---- The search

  bool writes(Small pair) const {
    return std::any_of(now_.network.begin(), now_.network.end(), [pair](const Item& item) {
      return item.kind == Kind::data && item.pair == pair;
    });
  }
  bool is_on_its_way(const Item& item) const {
    return std::find(now_.network.begin(), now_.network.end(), item) != now_.network.end();
  }
  static void put(State& state, const Item& item) {
    for (Item& place : state.network)
      if (place.kind == Kind::nothing) {
        place = item;
        return;
      }
    FAIL() << "the network of the model is too small";
  }
  void go(State& next) {
    std::sort(next.network.begin(), next.network.end(), std::greater<>());
    if (next.matched == pairs) happened_.insert("words serve a second pair");
    StateSearch::go(next);
  }

  const Rules rules_;
  const Small slots_, messages_;
  std::set<std::string> happened_;
};

TEST(Parting, WordsServeAnotherPairWhenNothingCanReachThemAnyMore) {
  for (const Small slots : {1, 2}) {
    Model model({}, slots);
    EXPECT_EQ(model.search(), "");
    EXPECT_EQ(model.happened(),
              (std::set<std::string>{"a credit comes after the notice", "a receive fails",
                                     "a send fails", "words serve a second pair"}));
    std::printf("%d slots: %zu states\n", slots, model.states());
  }
}

struct Defect {
  const char* name;
  const char* found;
  Rules rules;
};

class PartingDefects : public ::testing::TestWithParam<Defect> {};

const Defect defects[] = {
    {"NoticeWhileCreditsAreOwed",
     "a credit comes to words that serve another pair, or none",
     {.may_part = [](const Credits&, Epoch, bool asking, bool) { return !asking; }}},
    {"NoticeInsteadOfCreditsThatMetAFullQueue",
     "stuck",
     {.may_part = [](const Credits&, Epoch, bool asking, bool) { return !asking; },
      .credits_after_notice = false}},
    {"NoticeWhileAQuestionIsOpen",
     "a question comes to words that serve another pair, or none",
     {.may_part = [](const Credits& credits, Epoch taken, bool,
                     bool) { return !credits.owed(taken); }}},
    {"ReuseAtTheNotice",
     "a credit comes to words that serve another pair, or none",
     {.words_are_free = [](std::uint64_t closed, std::uint64_t parting,
                           Epoch) { return closed != 0 && parting != 0; }}},
    {"ReuseAtHalfANotice",
     "a notice comes to words that serve another pair, or none",
     {.words_are_free = [](std::uint64_t closed, std::uint64_t, Epoch) { return closed != 0; }}},
    {"ReuseAtTheOtherHalf",
     "a notice comes to words that serve another pair, or none",
     {.words_are_free = [](std::uint64_t, std::uint64_t parting,
                           Epoch consumed) { return parting != 0 && consumed == parting - 1; }}},
    {"ReuseAtOnce",
     "comes to words that serve another pair, or none",
     {.words_are_free = [](std::uint64_t, std::uint64_t, Epoch) { return true; }}},
    {"NoCreditsAfterAFailure", "stuck", {.credits_after_failure = false}},
    {"ReportsAreNotAwaited",
     "a report comes to words that serve another pair, or none",
     {.reports_are_awaited = false}},
};

std::string name_of(const ::testing::TestParamInfo<Defect>& tested) {
  return tested.param.name;
}
INSTANTIATE_TEST_SUITE_P(, PartingDefects, ::testing::ValuesIn(defects), name_of);

TEST_P(PartingDefects, IsFound) {
  const std::string fault = Model(GetParam().rules, 1).search();
  EXPECT_NE(fault.find(GetParam().found), std::string::npos) << "found: " << fault;
}

}  // namespace
}  // namespace penstock::protocol
