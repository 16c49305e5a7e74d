// SPDX-License-Identifier: Apache-2.0
// Windows over a provider: every number of entries serves every list, counters go back, and pages
// of accumulates wait for one another.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "ofi/accumulate_pages.hpp"
#include "ofi/window_pieces.hpp"
#include "support/rounds.hpp"
#include "unit/ofi/mapped_nic.hpp"
#include "unit/ofi/two.hpp"

namespace penstock::ofi {
namespace {

using transport::Operation;
using transport::Operations;
using transport::Verb;
using Numbers = std::vector<std::uint64_t>;

constexpr std::size_t number_bytes = sizeof(std::uint64_t);
constexpr std::size_t room = 4096;  // numbers of the target's part

// What an epoch moves, in pieces of the same size: puts into the first quarter, accumulates into
// the second one, gets of the third one.
struct Shape {
  std::size_t puts = 0, accumulates = 0, gets = 0;
  std::size_t numbers = 1;  // of each
};

// Rank 0 is the origin of rank 1's window.
class OfiWindows : public OfiTwo {
 protected:
  void attach() {
    part_.assign(room, 0);
    for (std::size_t i = room / 2; i < room; ++i) part_[i] = i;
    const transport::WindowMemory nothing;
    const transport::WindowMemory part{part_.data(), room * number_bytes};
    const auto mine = end(0).transport->open_window(nothing, 1);
    const auto theirs = end(1).transport->open_window(part, 0);
    origin_ = mine->connect(theirs->record(), lists_);
    target_ = theirs->connect(mine->record(), unused_);
  }
  void detach() {
    for (transport::WindowEnds* ends : {&origin_, &target_})
      for (auto* plan : {&ends->origin, &ends->target}) {
        if (*plan) (*plan)->close();
        plan->reset();
      }
  }
  void TearDown() override {
    detach();
    OfiTwo::TearDown();
    leave();
  }

  // All epochs are enqueued before the first one can run. Each is of one of the shapes in turn.
  void run_epochs(std::uint64_t epochs, std::span<const Shape> shapes) {
    shapes_ = shapes;
    source_.assign(room, 0);
    got_.assign(room, 0);
    filled_ = checked_ = 0;
    wrong_ = 0;
    std::fill_n(part_.begin(), room / 2, 0);
    std::atomic<bool> go = false;
    for (int rank : {0, 1}) end(rank).stream->launch(&OfiWindows::hold, &go);
    for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
      end(1).enqueue(*target_.target, nullptr, &OfiWindows::check, this);
      Operations list = list_of(shape(epoch));
      lists_.push(list);
      end(0).enqueue(*origin_.origin, &OfiWindows::fill, &OfiWindows::spoil, this);
    }
    go = true;
    for (int rank : {0, 1}) end(rank).stream->synchronize({});
    EXPECT_EQ(checked_, epochs);
    EXPECT_EQ(wrong_, 0u);
    for (int rank : {0, 1})
      if (const auto error = end(rank).sink.error()) ADD_FAILURE() << error->text();
  }

 private:
  static void hold(void* go) {
    while (!static_cast<std::atomic<bool>*>(go)->load()) std::this_thread::yield();
  }
  const Shape& shape(std::uint64_t epoch) const { return shapes_[epoch % shapes_.size()]; }

  Operations list_of(const Shape& shape) {
    Operations list;
    const std::size_t bytes = shape.numbers * number_bytes;
    const auto add = [&](Verb verb, std::size_t count, std::size_t quarter, Numbers& numbers) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = quarter * room / 4 + i * shape.numbers;
        Operation operation{.verb = verb,
                            .origin = &numbers[at],
                            .bytes = bytes,
                            .displacement = at * number_bytes};
        operation.reduction = transport::Reduction::sum;
        operation.element = transport::Element::uint64;
        list.push_back(operation);
      }
    };
    add(Verb::accumulate, shape.accumulates, 1, source_);
    add(Verb::put, shape.puts, 0, source_);
    add(Verb::get, shape.gets, 2, got_);
    list.push_back({.verb = Verb::put, .origin = source_.data(), .bytes = 0});
    return list;
  }

  // On the origin's stream, before the complete and behind it.
  static void fill(void* test) {
    auto& self = *static_cast<OfiWindows*>(test);
    ++self.filled_;
    std::iota(self.source_.begin(), self.source_.end(), self.filled_ * 1000);
  }
  static void spoil(void* test) {
    auto& self = *static_cast<OfiWindows*>(test);
    const Shape& shape = self.shape(self.filled_);
    for (std::size_t i = 0; i < shape.gets * shape.numbers; ++i) {
      const std::size_t at = room / 2 + i;
      self.wrong_ += self.got_[at] != at;
      self.got_[at] = 0;
    }
    std::fill(self.source_.begin(), self.source_.end(), 0xbad);
  }
  // On the target's stream, behind the wait.
  static void check(void* test) {
    auto& self = *static_cast<OfiWindows*>(test);
    const std::uint64_t epoch = ++self.checked_;
    const Shape& shape = self.shape(epoch);
    for (std::size_t i = 0; i < shape.puts * shape.numbers; ++i) {
      self.wrong_ += self.part_[i] != epoch * 1000 + i;
      self.part_[i] = 0;
    }
    for (std::size_t i = 0; i < shape.accumulates * shape.numbers; ++i) {
      const std::size_t at = room / 4 + i;
      self.wrong_ += self.part_[at] != epoch * 1000 + at;
      self.part_[at] = 0;
    }
    self.wrong_ += room / 2 - std::count(self.part_.begin(), self.part_.begin() + room / 2, 0);
  }

  transport::OperationLists lists_, unused_;
  transport::WindowEnds origin_, target_;
  Numbers part_, source_, got_;
  std::span<const Shape> shapes_;
  std::uint64_t filled_ = 0, checked_ = 0;
  std::atomic<std::uint64_t> wrong_{0};
};

const std::vector<Shape> all_shapes{
    {},
    {.puts = 1},
    {.puts = 26, .numbers = 30},
    {.gets = 3, .numbers = 100},
    {.puts = 2, .gets = 2, .numbers = 500},
    {.accumulates = 2, .numbers = 3},
    {.puts = 40, .accumulates = 1, .gets = 1, .numbers = 20},
};
// More accumulates than a page holds.
const std::vector<Shape> many_pages{
    {.accumulates = 1, .numbers = 1000}, {.puts = 1}, {.accumulates = 300, .numbers = 3}};

TEST_F(OfiWindows, R18_EveryNumberOfEntriesServesEveryList) {
  using enum base::Throttle;
  const std::vector<std::pair<base::Throttle, unsigned>> settings_of{
      {adaptive, 500}, {adaptive, 4}, {adaptive, 1},
      {adaptive, 0},   {batches, 64}, {application, 4}};
  for (const auto& [policy, entries_there] : settings_of) {
    SCOPED_TRACE(testing::Message()
                 << entries_there << " entries, policy " << static_cast<int>(policy));
    base::Settings settings = only_ofi();
    settings.ofi_entries = entries_there;
    settings.ofi_throttle = policy;
    introduce(settings);
    if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
    attach();
    constexpr std::uint64_t epochs = 30;
    run_epochs(epochs, all_shapes);
    detach();
    for (const int rank : {0, 1}) {
      const std::uint64_t posted = end(rank).count("starts_posted");
      EXPECT_GE(posted + end(rank).count("starts_carried_out"), epochs);
      EXPECT_LE(end(rank).count("most_entries_in_use"), entries_there);
      EXPECT_EQ(posted == 0, entries_there == 0) << posted;
    }
  }
}

TEST_F(OfiWindows, CountersStartAgainFromZero) {
  base::Settings settings = only_ofi();
  settings.ofi_counter_limit = 16;
  introduce(settings);
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  attach();
  constexpr std::uint64_t epochs = test::fewer_rounds(300, 3);
  run_epochs(epochs, all_shapes);
  run_epochs(epochs, std::vector<Shape>{{.puts = 1}, {}, {.puts = 3}});
}

TEST_F(OfiWindows, AccumulatesOfManyPages) {
  base::Settings settings = only_ofi();
  settings.window_eager_max = 0;  // pages are as small as can be
  introduce(settings);
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  attach();
  run_epochs(100, many_pages);
}

TEST_F(OfiWindows, StreamsRingTheNicAndPollItsWords) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not see in which order the provider stores";
#endif
  nic::switch_on();
  for (const unsigned entries : {500u, 3u, 0u})
    for (const std::uint64_t limit : {std::uint64_t{16}, std::uint64_t{1} << 20}) {
      SCOPED_TRACE(testing::Message() << entries << " entries, counters to " << limit);
      base::Settings settings = only_ofi();
      settings.ofi_entries = entries;
      settings.ofi_counter_limit = limit;
      introduce(settings);
      if (!served()) break;
      attach();
      const std::uint64_t before = nic::stores();
      run_epochs(100, all_shapes);
      EXPECT_EQ(nic::stores() - before, 2 * 100u) << "a post and a complete an epoch";
      detach();
      leave();
    }
  nic::switch_off();
}

// ---- How lists are cut

TEST(OfiWindowPieces, CoverEachByteOnce) {
  std::byte memory[64];
  Operations list{{.verb = Verb::put, .origin = memory, .bytes = 0},
                  {.verb = Verb::put, .origin = memory, .bytes = 25, .displacement = 100},
                  {.verb = Verb::accumulate, .origin = memory, .bytes = 16},
                  {.verb = Verb::get, .origin = memory + 30, .bytes = 10, .displacement = 7},
                  {.verb = Verb::get, .origin = memory, .bytes = 0}};
  WindowPieces pieces(10);
  pieces.begin(list);
  EXPECT_EQ(pieces.left(), 4u);
  std::vector<std::pair<std::size_t, std::size_t>> seen;
  for (; !pieces.done(); pieces.next()) {
    const Operation piece = pieces.piece();
    EXPECT_EQ(static_cast<std::byte*>(piece.origin) - memory,
              piece.verb == Verb::put ? static_cast<std::ptrdiff_t>(piece.displacement) - 100 : 30);
    seen.emplace_back(piece.displacement, piece.bytes);
  }
  EXPECT_EQ(seen, (decltype(seen){{100, 10}, {110, 10}, {120, 5}, {7, 10}}));
}

TEST(OfiWindowPieces, TheLargestListIsCountedWithoutOverflow) {
  std::byte byte{};
  Operations list{{.verb = Verb::put, .origin = &byte, .bytes = 100}};
  WindowPieces pieces(std::numeric_limits<std::size_t>::max());
  pieces.begin(list);
  EXPECT_EQ(pieces.left(), 1u);
  EXPECT_EQ(pieces.piece().bytes, 100u);
  pieces.next();
  EXPECT_TRUE(pieces.done());
}

TEST(OfiAccumulatePages, CarryEveryElement) {
  Numbers source(1000), window(1000, 1);
  std::iota(source.begin(), source.end(), 5);
  Operations list;
  for (std::size_t at = 0; at < source.size(); at += 250)
    list.push_back({.verb = Verb::accumulate,
                    .reduction = transport::Reduction::sum,
                    .element = transport::Element::uint64,
                    .origin = &source[at],
                    .bytes = 250 * number_bytes,
                    .displacement = at * number_bytes});
  for (const std::size_t bytes : {page_bytes(8, 0), page_bytes(8000, 10000), std::size_t{40}}) {
    std::fill(window.begin(), window.end(), 1);
    std::vector<std::byte> page(bytes);
    PageWriter writer;
    PageReader reader;
    for (writer.begin(list); !writer.done();) {
      EXPECT_LE(writer.fill(page.data(), page.size()), bytes);
      reader.take(page.data(), reinterpret_cast<std::byte*>(window.data()));
    }
    for (std::size_t i = 0; i < window.size(); ++i) ASSERT_EQ(window[i], source[i] + 1) << i;
  }
}

}  // namespace
}  // namespace penstock::ofi
