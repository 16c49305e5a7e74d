// SPDX-License-Identifier: Apache-2.0
// Windows: every order of posts, completes and waits of two pairs, sides that close anywhere, and
// the defects that could be planted. In programs `s w` of a pair stands for a complete, `r` for a
// post and its `w` for the target's wait.
#include <numeric>

#include "protocol/explorer/defects.hpp"
#include "protocol/explorer/kinds.hpp"
#include "protocol/explorer/report.hpp"

namespace penstock::explorer {
namespace {

const auto* const print_totals = ::testing::AddGlobalTestEnvironment(new PrintTotals);

// Bit e: epoch e moves directly. Mixed, so that a slot's line lies unused for as long as it takes
// 2-bit flags to come again; and so that each of two slots does for the time of 3-bit flags, which
// leave some epochs without a refresh.
enum Moves : std::uint32_t {
  eager = 0,
  direct = ~0u,
  mixed = ~(1u << 4 | 1u << 8 | 1u << 12),
  far_apart = ~(1u << 2 | 1u << 3 | 1u << 10 | 1u << 11)
};

PairSpec window(Moves moves, unsigned slots = 2, unsigned lines = 1, unsigned flag_bits = 2) {
  PairSpec kind{Path::window, Mode::standard, ClaimBy::exchange, slots, lines, flag_bits};
  kind.direct = moves;
  return kind;
}

PairSpec deferred(PairSpec kind) {
  kind.deferred = true;
  return kind;
}

// The program's own stores wait for the post, as what moves directly does.
PairSpec stored(unsigned slots = 2, unsigned lines = 1) {
  PairSpec kind = window(Moves::direct, slots, lines);
  kind.stored = true;
  return kind;
}

std::vector<PairSpec> kinds() {
  std::vector<PairSpec> kinds;
  for (const Moves moves : {Moves::eager, Moves::direct, Moves::mixed}) {
    kinds.push_back(window(moves));
    kinds.push_back(window(moves, 2, 2));
    kinds.push_back(window(moves, 2, 1, 3));  // not all epochs write their slot whole
    kinds.push_back(deferred(window(moves, 3)));
  }
  kinds.push_back(window(Moves::far_apart, 2, 1, 3));
  return kinds;
}

void expect_ends(const std::string& name, const std::vector<PairSpec>& pairs,
                 const std::vector<std::string>& programs, unsigned releases = 0) {
  Scenario scenario{name, pairs, {}};
  for (const std::string& program : programs) scenario.threads.push_back({program});
  scenario.releases = releases;
  expect_holds(scenario, Liveness::programs);
}

std::string times(const std::string& calls, unsigned count) {
  return "(" + calls + ")" + std::to_string(count);
}

class Window : public ::testing::TestWithParam<PairSpec> {
 protected:
  const PairSpec kind = GetParam();
  unsigned flags() const { return kind.slots * kind.slot_lines(); }
};

INSTANTIATE_TEST_SUITE_P(, Window, ::testing::ValuesIn(kinds()),
                         [](const auto& kind) { return test_name(kind.param); });

// 2-bit flags come round three times, 3-bit ones once.
TEST_P(Window, R1_R17_ThirteenEpochs) {
  expect_ends("one way", {kind}, {times("s1 w1", 13), times("r1 w1", 13)});
}

// Between two epochs that share a slot and a flag, the slot is written whole.
TEST(WindowRefresh, R17_EverySlotIsWrittenWholeBetweenEqualFlags) {
  for (unsigned bits = 2; bits <= 5; ++bits) {
    for (unsigned slots = 2; slots < 1u << bits; ++slots) {
      const protocol::Epoch period = protocol::Epoch{1} << bits;
      const protocol::Epoch alike = std::lcm(period, protocol::Epoch{slots});
      for (protocol::Epoch epoch = 1; epoch <= alike; ++epoch) {
        bool whole = false;
        for (protocol::Epoch later = epoch + slots; later < epoch + alike; later += slots)
          whole = whole || protocol::window::writes_whole_slot(later, slots, bits);
        ASSERT_TRUE(whole) << bits << " bits, " << slots << " slots, epoch " << epoch;
      }
    }
  }
}

TEST_P(Window, R6_PostCompleteWaitAgainstCompletePostWait) {
  expect_ends("R6", {kind, kind}, {times("r2 s1 w1 w2", 3), times("s2 w2 r1 w1", 3)});
  expect_ends("both post first", {kind, kind}, {times("r2 s1 w1 w2", 3), times("r1 s2 w2 w1", 3)});
}

// With lines a complete needs no post: so far a program may run ahead.
TEST_P(Window, R5_BothCompleteFirst) {
  if (kind.direct != 0) GTEST_SKIP() << "a direct complete waits for its post";
  expect_ends("R5", {kind, kind}, {times("s1 w1 r2 w2", 3), times("s2 w2 r1 w1", 3)});
  const std::string ahead = times("s1 w1", kind.slots);
  expect_ends("as far ahead as there are slots", {kind, kind},
              {ahead + " r2 w2", "s2 w2 " + times("r1 w1", kind.slots)});
}

TEST_P(Window, R7_RingOfThree) {
  if (flags() > 4) GTEST_SKIP() << "three such pairs outgrow the model's memory";
  expect_ends("R7", {kind, kind, kind}, {"r3 s1 w1 w3", "r1 s2 w2 w1", "r2 s3 w3 w2"});
}

// Each side takes its calls in any order that is legal.
TEST_P(Window, EveryOrderOfTwoPairs) {
  if (kind.flag_bits > 2 && !long_run()) GTEST_SKIP() << in_the_whole_form;
  constexpr unsigned send1 = 0, receive1 = 1, send2 = 2, receive2 = 3;
  const unsigned epochs = long_run() && flags() == 4 ? 3 : 2;
  for (const bool both_ways : {false, true}) {
    const Scenario scenario{"any order",
                            {kind, kind},
                            {{"", {send1, both_ways ? receive2 : send2}},
                             {"", {receive1, both_ways ? send2 : receive2}}},
                            {epochs, epochs}};
    expect_holds(scenario, Liveness::lemma);
  }
}

// Posts that the program promises to run before the completes, and proves by a message: their calls
// tell the origin nothing, and the origin looks for nothing. Epochs with and without take turns.
enum Promised : std::uint32_t { all_of_them = ~0u, every_other = 0xaaaaaaaau };

PairSpec promised(PairSpec kind, Promised which = all_of_them) {
  kind.promised = which;
  return kind;
}

TEST(WindowStores, R2_OwnStoresStandBetweenPostAndWait) {
  for (const PairSpec& kind : {stored(), stored(2, 2), deferred(stored(3))}) {
    expect_ends("one way", {kind}, {times("s1 w1", 9), times("r1 w1", 9)});
    expect_ends("both post first", {kind, kind},
                {times("r2 s1 w1 w2", 2), times("r1 s2 w2 w1", 2)});
    expect_ends("promised", {promised(kind)}, {times("a1 s1 w1", 5), times("r1 e1 w1", 5)});
  }
}

TEST_P(Window, R16_PromisedPosts) {
  expect_ends("R16", {promised(kind)}, {times("a1 s1 w1", 5), times("r1 e1 w1", 5)});
  expect_ends("R16, some", {promised(kind, every_other)},
              {times("a1 s1 w1 s1 w1", 3), times("r1 e1 w1 r1 w1", 3)});
  expect_ends("R16, both ways", {promised(kind), promised(kind)},
              {times("r2 e1 a2 s1 w1 w2", 2), times("r1 e2 a1 s2 w2 w1", 2)});
  expect_ends("R16, released", {closing(promised(kind))},
              {times("a1 s1 w1", 3), times("r1 e1 w1", 3)}, 1);
}

// A side is released from a call, or frees its window, at any point; its user takes its memory back
// at once.
TEST_P(Window, R20_ReleasedAnywhere) {
  const PairSpec may_close = closing(kind);
  for (const unsigned releases : {1u, 2u})
    expect_ends("R20", {may_close}, {times("s1 w1", 3), times("r1 w1", 3)}, releases);
  if (flags() > 4) return;  // two that may close would outgrow the model's memory
  expect_ends("R20", {may_close, may_close}, {"r2 s1 w1 w2", "r1 s2 w2 w1"}, 1);
}

TEST_P(Window, R19_FreedWhileThePeerGoesOn) {
  const PairSpec may_close = closing(kind);
  expect_ends("target", {may_close}, {times("s1 w1", 3), "r1 w1 c1"});
  expect_ends("origin", {may_close}, {"s1 w1 c1", times("r1 w1", 3)});
}

// What the search is worth.
void expect_found(const PairSpec& kind, MakePort make_port, unsigned epochs = 9) {
  Scenario scenario{"planted", {kind}, {{times("s1 w1", epochs)}, {times("r1 w1", epochs)}}};
  const Result plain = explore(scenario, Liveness::programs);
  EXPECT_TRUE(plain.ok()) << plain.failure;
  scenario.relaxed_orders = true;
  const Result result = explore(scenario, Liveness::programs, make_port);
  std::cout << "  " << describe(kind) << ": "
            << (result.ok() ? "NOT FOUND" : result.failure.substr(0, result.failure.find('\n')))
            << '\n';
  EXPECT_FALSE(result.ok());
}

// A direct epoch leaves HEAD out: its slot is skipped.
struct NoHead : ModelPort {
  using ModelPort::ModelPort;
  void fill(unsigned slot, std::uint32_t line) override {
    if (head().parts == 0) ModelPort::fill(slot, line);
  }
  void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) override {
    if (head().parts == 0) ModelPort::store_flag(slot, line, flag);
  }
};

// Lines that an epoch does not need are never flagged anew.
struct NoRefresh : ModelPort {
  using ModelPort::ModelPort;
  void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) override {
    if (line <= head().lines) ModelPort::store_flag(slot, line, flag);
  }
};

struct RelaxedPart : ModelPort {
  using ModelPort::ModelPort;
  void store_part(unsigned part, Order, std::uint64_t value) override {
    ModelPort::store_part(part, Order::relaxed, value);
  }
};

struct PartBeforeData : ModelPort {
  using ModelPort::ModelPort;
  void move_part(unsigned) override {}
  void store_part(unsigned part, Order order, std::uint64_t value) override {
    ModelPort::store_part(part, order, value);
    ModelPort::move_part(part);
  }
};

// The origin does not wait for the post.
struct PostAssumed : ModelPort {
  using ModelPort::ModelPort;
  std::uint64_t load(Word word, Order order) override {
    return word == Word::cts ? ~std::uint64_t{0} : ModelPort::load(word, order);
  }
};

struct FlagRelaxed : ModelPort {
  using ModelPort::ModelPort;
  void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) override {
    store_flag_with(Order::relaxed, slot, line, flag);
  }
};

TEST(PlantedInWindow, StoredBeforeThePostOrBehindHead) {
  expect_found(stored(), &make_port<PostAssumed>);
  expect_found(stored(), &make_port<FlagRelaxed>);
}

// CTS counts the posts that tell the origin, in place of the epochs.
struct PostsCounted : ModelPort {
  using ModelPort::ModelPort;
  void store(Word word, Order order, std::uint64_t value) override {
    ModelPort::store(word, order, word == Word::cts ? (value + 1) / 2 : value);
  }
};

TEST(PlantedInWindow, PromisedPostNotCounted) {
  Scenario scenario{"planted",
                    {promised(window(Moves::direct), every_other)},
                    {{times("a1 s1 w1 s1 w1", 2)}, {times("r1 e1 w1 r1 w1", 2)}}};
  EXPECT_TRUE(explore(scenario, Liveness::programs).ok());
  scenario.relaxed_orders = true;
  EXPECT_FALSE(explore(scenario, Liveness::programs, &make_port<PostsCounted>).ok());
}

// Nothing proves to the origin that the post has run.
TEST(PlantedInWindow, PromiseBroken) {
  const Scenario scenario{
      "planted", {promised(window(Moves::direct))}, {{times("s1 w1", 2)}, {times("r1 w1", 2)}}};
  EXPECT_FALSE(explore(scenario, Liveness::programs).ok());
}

TEST(PlantedInWindow, HeadSkipped) {
  expect_found(window(Moves::mixed), &make_port<NoHead>);
  expect_found(window(Moves::direct), &make_port<NoHead>);
}

TEST(PlantedInWindow, NoRefresh) {
  expect_found(window(Moves::mixed), &make_port<NoRefresh>);
}

// Of one slot alone.
struct NoRefreshOfSlotOne : ModelPort {
  using ModelPort::ModelPort;
  void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) override {
    if (slot != 1 || line <= head().lines) ModelPort::store_flag(slot, line, flag);
  }
};

TEST(PlantedInWindow, NoRefreshOfOneSlot) {
  expect_found(window(Moves::far_apart, 2, 1, 3), &make_port<NoRefreshOfSlotOne>, 13);
}

TEST(PlantedInWindow, PostRelaxed) {
  expect_found(window(Moves::direct), &make_port<defects::RelaxedStore<Word::cts>>);
}

TEST(PlantedInWindow, PostNotAwaited) {
  expect_found(window(Moves::direct), &make_port<PostAssumed>);
}

TEST(PlantedInWindow, PartRelaxed) {
  expect_found(window(Moves::direct), &make_port<RelaxedPart>);
}

TEST(PlantedInWindow, PartBeforeData) {
  expect_found(window(Moves::direct, 2, 2), &make_port<PartBeforeData>);
}

TEST(PlantedInWindow, FinEarlyLateAndRelaxed) {
  expect_found(window(Moves::eager), &make_port<defects::ShiftedFin<1>>);
  expect_found(deferred(window(Moves::eager, 3)), &make_port<defects::ShiftedFin<1>>);
  expect_found(window(Moves::eager), &make_port<defects::RelaxedStore<Word::fin>>);
}

TEST(PlantedInWindow, FlagBeforeData) {
  expect_found(window(Moves::eager), &make_port<defects::FlagBeforeData>);
}

}  // namespace
}  // namespace penstock::explorer
