// SPDX-License-Identifier: Apache-2.0
// A window's pair over a network whose counters trigger what moves: the decisions of
// protocol/triggered.hpp in every order in which a network may deliver. What is posted ahead and
// what the engine issues differ in when they go, so that both are among the orders. Each end may be
// given up at any time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <set>
#include <string>

#include "protocol/giving_up.hpp"
#include "protocol/state_search.hpp"
#include "protocol/triggered.hpp"

namespace penstock::protocol {
namespace {

using triggered::OriginEpoch;
using Small = std::uint8_t;
constexpr Small most_epochs = 3;

// What the shipped code decides; planted defects take other decisions.
struct Rules {
  std::uint64_t (*fires_at)(Epoch) = triggered::fires_at;
  bool (*may_tell)(const OriginEpoch&) = triggered::may_tell;
  bool (*is_complete)(bool, bool) = triggered::is_complete;
  bool (*may_fill_page)(std::uint64_t, std::uint64_t) = triggered::may_fill_page;
  Credits (*additions)(Epoch, std::uint64_t) = triggered::additions;
  bool (*receive_is_untouched)(bool, std::uint64_t, std::uint64_t) = protocol::receive_is_untouched;
  bool complete_waits_for_pages = true;
  bool ends_are_seen = true;            // a write has ended when it can be seen at the target
  bool notice_waits_for_writes = true;  // of the program's memory, and of pages
};

// What each epoch moves: writes, and pages of accumulates.
struct Shape {
  std::array<Small, most_epochs> writes{}, pages{};
  Small epochs = most_epochs;
};

// ---- The state: bytes alone

enum Side : Small { origin, target };

struct End {
  Small consumed = 0, taken = 0, closed = 0, parting = 0;  // words, which the peer writes
  Small released = 0, notice = 0, told = 0, reaped = 0;
};

struct State {
  std::array<End, 2> ends{};
  // Origin. Of the present epoch: writes that have gone and those that have ended.
  Small rung = 0, complete = 0, posts = 0, gone = 0, ended = 0;
  Small epochs_told = 0;  // one after the other
  Small pages_gone = 0, pages_told = 0, page_writes = 0;
  Small writes_under_way = 0;
  // Target
  Small posted = 0, waited = 0, applied = 0, freed = 0;
  Small slot = 0;                             // the page that lies there
  std::array<Small, most_epochs> landed{};    // a bit a write
  std::array<Small, most_epochs> in_pages{};  // applied in that epoch
  struct Item {
    Small kind = 0, epoch = 0, number = 0;
    auto operator<=>(const Item&) const = default;
  };
  std::array<Item, 10> network{};  // sorted
};

// To whom it goes stands in the kind.
enum Kind : Small {
  nothing,
  post,        // to the origin's trigger
  write,       // into the program's memory at the target
  ended,       // back to the origin
  tell,        // to `consumed` at the target
  page,        // to the place of pages
  page_ended,  // back
  page_told,   // to `taken` at the target
  page_taken,  // to `taken` at the origin
  closed_o,    // notices, to the target
  parting_o,
  closed_t,  // and to the origin
  parting_t
};

class Model : public StateSearch<State> {
 public:
  Model(const Rules& rules, const Shape& shape) : rules_(rules), shape_(shape) {}
  const std::set<std::string>& happened() const { return happened_; }

 private:
  using Item = State::Item;

  void step() override {
    run_origin();
    run_target();
    for (const Side side : {origin, target}) part(side);
    for (std::size_t i = 0; i < now_.network.size(); ++i)
      if (now_.network[i].kind != nothing) deliver(i);
  }
  bool may_end() const override {
    return now_.ends[origin].reaped != 0 && now_.ends[target].reaped != 0 &&
           now_.network.back().kind == nothing;
  }

  // ---- The origin

  Small writes() const { return now_.rung == 0 ? 0 : shape_.writes[now_.rung - 1u]; }
  Small pages() const { return now_.rung == 0 ? 0 : shape_.pages[now_.rung - 1u]; }
  Small pages_before() const {
    Small sum = 0;
    for (Small epoch = 1; epoch < now_.rung; ++epoch)
      sum = static_cast<Small>(sum + shape_.pages[epoch - 1u]);
    return sum;
  }
  bool has_fired() const { return Small(now_.rung + now_.posts) >= rules_.fires_at(now_.rung); }
  OriginEpoch origin_epoch() const {
    const bool all = now_.ends[origin].taken == pages_before() + pages();
    return {has_fired(), now_.ended == writes(), !all};
  }
  bool is_under_way() const { return now_.rung > now_.complete; }

  void run_origin() {
    const End& end = now_.ends[origin];
    if (end.released) return;
    const bool hopeless = closed_before(end.closed, now_.rung);
    if (is_under_way()) {
      give_up(origin, "the origin is given up");
      if (!hopeless) move_epoch();
      return;
    }
    if (now_.complete == shape_.epochs || end.closed != 0) return release(origin);
    State next = now_;
    ++next.rung;
    next.gone = next.ended = 0;
    go(next);
  }

  void move_epoch() {
    const OriginEpoch epoch = origin_epoch();
    if (has_fired()) {
      send_write();
      send_page();
    }
    const bool owes = now_.epochs_told < now_.rung;
    if (owes && rules_.may_tell(epoch)) {
      State next = now_;
      ++next.epochs_told;
      put(next, {tell, now_.rung, 0});
      go(next);
    }
    OriginEpoch seen = epoch;
    if (!rules_.complete_waits_for_pages) seen.pages_left = false;
    if (rules_.is_complete(triggered::may_tell(seen), owes && rules_.complete_waits_for_pages)) {
      if (now_.gone != writes() || now_.pages_gone != pages_before() + pages())
        return fault("a complete ends before its buffers have been read");
      State next = now_;
      ++next.complete;
      go(next);
    }
  }

  void send_write() {
    if (now_.gone == writes()) return;
    State next = now_;
    put(next, {write, now_.rung, now_.gone});
    ++next.gone;
    ++next.writes_under_way;
    if (!rules_.ends_are_seen) put(next, {ended, now_.rung, now_.gone});
    go(next);
  }

  // Its bytes, then what tells of it.
  void send_page() {
    if (now_.page_writes == 0 && now_.pages_told < now_.pages_gone) {
      State next = now_;
      ++next.pages_told;
      put(next, {page_told, now_.rung, 0});
      return go(next);
    }
    if (now_.pages_gone == pages_before() + pages() || now_.page_writes != 0) return;
    if (!rules_.may_fill_page(now_.pages_told, now_.ends[origin].taken)) return;
    State next = now_;
    ++next.pages_gone;
    ++next.page_writes;
    put(next, {page, now_.rung, next.pages_gone});
    go(next);
  }

  // ---- The target

  void run_target() {
    const End& end = now_.ends[target];
    if (end.taken > now_.applied && !end.released) apply_page();
    if (end.released) return take_back_memory();
    const bool hopeless = closed_before(end.closed, now_.posted);
    if (now_.posted > now_.waited) {
      give_up(target, "the target is given up");
      const bool is_last = now_.ends[origin].told != 0 && now_.network.front().kind == nothing;
      if (is_last && !hopeless && end.consumed < now_.posted)
        return fault("a wait that nothing will end");
      if (end.consumed >= now_.posted && !hopeless) end_wait();
      return;
    }
    if (now_.waited == shape_.epochs || end.closed != 0) return release(target);
    State next = now_;
    ++next.posted;
    put(next, {post, next.posted, 0});
    go(next);
  }

  void apply_page() {
    if (now_.slot != now_.applied + 1)
      return fault("a page is applied that is not there, or another one");
    State next = now_;
    ++next.applied;
    if (now_.posted > 0) ++next.in_pages[now_.posted - 1u];
    put(next, {page_taken, 0, 0});
    go(next);
  }

  void end_wait() {
    const std::size_t epoch = now_.posted - 1u;
    if (now_.landed[epoch] != (1 << shape_.writes[epoch]) - 1)
      return fault("a wait ends before all writes have come");
    if (now_.in_pages[epoch] != shape_.pages[epoch])
      return fault("a wait ends before all accumulates have been applied");
    State next = now_;
    ++next.waited;
    go(next);
  }

  void take_back_memory() {
    const End& end = now_.ends[target];
    if (now_.freed != 0) return;
    const bool all_arrived = end.consumed >= now_.posted;
    if (!rules_.receive_is_untouched(all_arrived, end.closed, end.parting)) return;
    State next = now_;
    next.freed = 1;
    go(next);
  }

  // ---- Their ends

  void release(Side side) {
    State next = now_;
    next.ends[side].released = 1;
    next.ends[side].notice = static_cast<Small>((side == origin ? now_.complete : now_.waited) + 1);
    go(next);
  }
  void give_up(Side side, const char* what) {
    happened_.insert(what);
    release(side);
  }

  void part(Side side) {
    const End& end = now_.ends[side];
    const bool writing = side == origin && rules_.notice_waits_for_writes &&
                         (now_.page_writes != 0 || now_.writes_under_way != 0);
    if (end.notice != 0 && end.told == 0 && !writing) {
      const Credits credits = side == origin ? rules_.additions(now_.epochs_told, now_.pages_told)
                                             : Credits{now_.applied, false};
      State next = now_;
      next.ends[side].told = 1;
      put(next, {side == origin ? closed_o : closed_t, 0, end.notice});
      put(next,
          {side == origin ? parting_o : parting_t, 0, static_cast<Small>(parting_word(credits))});
      go(next);
    }
    if (end.told != 0 && end.reaped == 0 && (side == origin || now_.freed != 0) &&
        words_are_free(end.closed, end.parting, end.consumed + end.taken)) {
      State next = now_;
      next.ends[side].reaped = 1;
      go(next);
    }
  }

  // ---- The network

  void deliver(std::size_t index) {
    State next = now_;
    const Item item = now_.network[index];
    next.network[index] = {};
    const bool to_origin = item.kind == page_taken || item.kind == closed_t ||
                           item.kind == parting_t || item.kind == ended || item.kind == page_ended;
    End& end = next.ends[to_origin ? origin : target];
    if (end.reaped != 0 && item.kind != write && item.kind != post)
      return fault("something comes to words that serve another pair");
    switch (item.kind) {
      case post:
        if (now_.ends[origin].released == 0) ++next.posts;
        break;
      case write:
        return deliver_write(next, item);
      case ended:
        if (item.epoch == now_.rung) ++next.ended;
        if (rules_.ends_are_seen) --next.writes_under_way;
        break;
      case tell:
        ++end.consumed;
        break;
      case page:
        next.slot = item.number;
        put(next, {page_ended, 0, 0});
        break;
      case page_ended:
        --next.page_writes;
        break;
      case page_told:
      case page_taken:
        ++end.taken;
        break;
      case closed_o:
      case closed_t:
        end.closed = item.number;
        break;
      case parting_o:
      case parting_t:
        end.parting = item.number;
        break;
      default:
        break;
    }
    go(next);
  }

  // A target that is given up has closed its region: the write finds no place, or goes on as it had
  // found it before.
  void deliver_write(State& next, const Item& item) {
    const bool exposed = now_.posted >= item.epoch && now_.waited < item.epoch;
    if (now_.freed != 0 && now_.ends[target].notice <= item.epoch && now_.ends[target].reaped == 0)
      return fault("a write into memory that is the program's again");
    if (now_.ends[target].released == 0 && !exposed) return fault("a write that is not posted");
    Small& landed = next.landed[item.epoch - 1u];
    landed = static_cast<Small>(landed | 1 << item.number);
    if (rules_.ends_are_seen)
      put(next, {ended, item.epoch, item.number});
    else
      --next.writes_under_way;
    go(next);
  }

  static void put(State& state, const Item& item) {
    for (Item& place : state.network)
      if (place.kind == nothing) {
        place = item;
        return;
      }
    FAIL() << "the network of the model is too small";
  }
  void go(State& next) {
    std::sort(next.network.begin(), next.network.end(), std::greater<>());
    if (next.complete == shape_.epochs && next.waited == shape_.epochs)
      happened_.insert("all epochs end");
    StateSearch::go(next);
  }

  const Rules rules_;
  const Shape shape_;
  std::set<std::string> happened_;
};

const Shape shapes[] = {{.writes = {1, 0, 2}, .pages = {0, 0, 0}},
                        {.writes = {0, 0, 1}, .pages = {0, 0, 0}},
                        {.writes = {1, 1}, .pages = {2, 0}, .epochs = 2},
                        {.writes = {0, 1}, .pages = {1, 1}, .epochs = 2}};

TEST(Triggered, EveryOrderOfANetwork) {
  for (const Shape& shape : shapes) {
    Model model({}, shape);
    EXPECT_EQ(model.search(), "");
    EXPECT_EQ(model.happened(), (std::set<std::string>{"all epochs end", "the origin is given up",
                                                       "the target is given up"}));
    std::printf("%zu states\n", model.states());
  }
}

struct Defect {
  const char* name;
  const char* found;
  Rules rules;
};

class TriggeredDefects : public ::testing::TestWithParam<Defect> {};

const Defect defects[] = {
    {"FiresOneEarly", "a write that is not posted", {.fires_at = [](Epoch epoch) -> std::uint64_t {
       return 2 * epoch - 1;
     }}},
    {"EndsAreThoseOfTheSource",
     "a wait ends before all writes have come",
     {.ends_are_seen = false}},
    {"ToldBeforeThePages",
     "a wait ends before all accumulates have been applied",
     {.may_tell = [](const OriginEpoch& epoch) { return epoch.fired && epoch.ended; }}},
    {"CompleteBeforeThePages",
     "a complete ends before its buffers have been read",
     {.complete_waits_for_pages = false}},
    {"CompleteThoughTheTargetIsNotTold",
     "a wait that nothing will end",
     {.is_complete = [](bool all_come, bool) { return all_come; }}},
    {"PagesDoNotWaitForOneAnother",
     "a page is applied that is not there, or another one",
     {.may_fill_page = [](std::uint64_t, std::uint64_t) { return true; }}},
    {"PagesAreNotCounted",
     "something comes to words that serve another pair",
     {.additions =
          [](Epoch epochs, std::uint64_t) {
            return Credits{epochs, false};
          }}},
    {"TheNoticeDoesNotWait",
     "a write into memory that is the program's again",
     {.notice_waits_for_writes = false}},
    {"MemoryIsGivenBackAtOnce",
     "a write into memory that is the program's again",
     {.receive_is_untouched = [](bool, std::uint64_t, std::uint64_t) { return true; }}},
};

std::string name_of(const ::testing::TestParamInfo<Defect>& tested) {
  return tested.param.name;
}
INSTANTIATE_TEST_SUITE_P(, TriggeredDefects, ::testing::ValuesIn(defects), name_of);

TEST_P(TriggeredDefects, IsFound) {
  std::set<std::string> faults;
  for (const Shape& shape : shapes) faults.insert(Model(GetParam().rules, shape).search());
  faults.erase("");
  ASSERT_FALSE(faults.empty());
  EXPECT_TRUE(std::any_of(faults.begin(), faults.end(), [](const std::string& fault) {
    return fault.find(GetParam().found) != std::string::npos;
  })) << *faults.begin();
}

}  // namespace
}  // namespace penstock::protocol
