// SPDX-License-Identifier: Apache-2.0
// The shipped words of a bag and the port of its sources: sources and threads that grab as threads
// of one process, compiled with ThreadSanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "channel/bag_words.hpp"
#include "protocol/explorer/report.hpp"

namespace penstock::threads {
namespace {

namespace bag = protocol::bag;
using bag::Number;
using bag::Slot;
using bag::Source;
using channel::BagShape;
using channel::LaneBlock;
using channel::SourceBlock;

constexpr Source all_sources = 2;
constexpr Number messages = 4000;  // of each source
constexpr std::uint64_t elements = 9;
constexpr std::uint64_t used_again = 0xfeedfeedfeedfeedu;  // where the slots are the program's

std::uint64_t element_of(Source source, Number number, std::uint64_t at) {
  return number * 1000003 + source * 7919 + at;
}

// Zero, and aligned to lines of the cache.
class Block {
 public:
  explicit Block(std::size_t bytes) : lines_(bytes / sizeof(Line) + 1) {}
  template <class Words>
  Words& as() {
    return *reinterpret_cast<Words*>(lines_.data());
  }

 private:
  struct alignas(peer::cache_line) Line {
    std::byte bytes[peer::cache_line] = {};
  };
  std::vector<Line> lines_;
};

// What each source and the receiver have of a lane.
struct Lane {
  explicit Lane(const BagShape& shape)
      : source(SourceBlock::bytes_for(shape)), lane(LaneBlock::bytes_for(shape, true)) {}

  Block source, lane;
  std::atomic<Number> claimed{0};
};

struct GrabPort {
  using Entry = channel::BagEntry;
  std::vector<Lane*> lanes;
  std::atomic<Source>& next;
  Slot slots;

  Source sources() const { return static_cast<Source>(lanes.size()); }
  template <protocol::Order order>
  Number load_head(Source source) const {
    return std::atomic_ref(lanes[source]->lane.as<LaneBlock>().head).load(order);
  }
  template <protocol::Order order>
  Entry load_entry(Source source, Number number) const {
    auto& lane = lanes[source]->lane.as<LaneBlock>();
    return Entry::from(std::atomic_ref(lane.entry(number, slots)).load(order));
  }
  template <protocol::Order order>
  Number load_claimed(Source source) const {
    return lanes[source]->claimed.load(order);
  }
  bool claim(Source source, Number& number) const {
    return lanes[source]->claimed.compare_exchange_strong(number, number + 1,
                                                          std::memory_order_relaxed);
  }
  template <protocol::Order order>
  Source load_next() const {
    return next.load(order);
  }
  template <protocol::Order order>
  void store_next(Source source) const {
    next.store(source, order);
  }
  template <protocol::Order order>
  void store_released(Source source, Slot slot, Number number) const {
    std::atomic_ref(lanes[source]->source.as<SourceBlock>().released(slot)).store(number, order);
  }
  template <protocol::Order order>
  void store_closed(Source source) const {
    std::atomic_ref(lanes[source]->source.as<SourceBlock>().closed).store(1, order);
  }
  template <protocol::Order order>
  std::uint64_t load_writing(Source source) const {
    return std::atomic_ref(lanes[source]->source.as<SourceBlock>().writing).load(order);
  }
  template <protocol::Order order>
  void fence() const {
    std::atomic_thread_fence(order);
  }
};
static_assert(bag::ReceiverPort<GrabPort>);

// Puts from one place, which it overwrites, as late as it likes.
void put_all(Lane& of, const BagShape& shape, Source me) {
  auto& lane = of.lane.as<LaneBlock>();
  channel::SourceSlots slots(shape.slots);
  std::vector<std::uint64_t> message(elements);
  std::minstd_rand random(me + 1);
  for (Number number = 1; number <= messages; ++number) {
    const std::uint64_t count = number % (elements + 1);
    for (std::uint64_t at = 0; at < count; ++at) message[at] = element_of(me, number, at);
    const std::atomic<bool> dead{false};
    channel::SourcePort port{of.source.as<SourceBlock>(),
                             lane,
                             lane.messages(shape),
                             shape,
                             dead,
                             slots,
                             message.data(),
                             count,
                             number};
    while (bag::put(port, number) == protocol::Progress::pending) {
      if (port.load_closed<protocol::Order::acquire>() != 0) return;
      std::this_thread::yield();
    }
    if (random() % 16 == 0) std::this_thread::yield();
  }
}

// Returns how much was wrong. `left`: messages that no thread has set out for.
std::size_t grab_some(GrabPort port, const BagShape& shape, std::atomic<std::int64_t>& left) {
  std::size_t wrong = 0;
  std::vector<Number> last(port.sources(), 0);
  while (left.fetch_sub(1, std::memory_order_relaxed) > 0) {
    bag::Taken<channel::BagEntry> taken;
    while (!bag::grab(port, taken)) std::this_thread::yield();
    auto& lane = port.lanes[taken.source]->lane.as<LaneBlock>();
    const Slot slot = taken.entry.slot;
    auto* const message =
        reinterpret_cast<std::uint64_t*>(lane.messages(shape) + slot * shape.slot_bytes());
    if (taken.number <= last[taken.source]) ++wrong;
    last[taken.source] = taken.number;
    const std::uint64_t count = taken.entry.count;
    if (count != taken.number % (elements + 1)) ++wrong;
    for (std::uint64_t at = 0; at < count; ++at) {
      if (message[at] != element_of(taken.source, taken.number, at)) ++wrong;
      message[at] = 0;
    }
    bag::release(port, taken.source, slot, taken.number);
  }
  return wrong;
}

TEST(BagThreads, EachMessageOnce) {
  for (const Slot slots : {1u, 3u, 16u}) {
    const BagShape shape{slots, elements, sizeof(std::uint64_t)};
    Lane first(shape), second(shape);
    std::atomic<Source> next{0};
    std::atomic<std::int64_t> left{all_sources * messages};
    const GrabPort port{{&first, &second}, next, slots};
    std::vector<std::size_t> wrong(2, 0);
    std::vector<std::thread> threads;
    threads.emplace_back([&] { put_all(first, shape, 0); });
    threads.emplace_back([&] { put_all(second, shape, 1); });
    for (std::size_t i = 0; i < 2; ++i)
      threads.emplace_back([&, i] { wrong[i] = grab_some(port, shape, left); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, (std::vector<std::size_t>{0, 0})) << slots << " slots";
    EXPECT_EQ(first.claimed, messages);
    EXPECT_EQ(second.claimed, messages);
  }
}

// Two threads grab some, and who ends last closes and uses the slots at once. Returns how much was
// wrong.
std::size_t close_behind(std::int64_t grabs, Slot slots) {
  const BagShape shape{slots, elements, sizeof(std::uint64_t)};
  Lane first(shape), second(shape);
  std::atomic<Source> next{0};
  std::atomic<std::int64_t> left{grabs};
  std::atomic<int> grabbing{2};
  std::atomic<std::size_t> wrong{0};
  GrabPort port{{&first, &second}, next, slots};
  std::vector<std::thread> threads;
  threads.emplace_back([&] { put_all(first, shape, 0); });
  threads.emplace_back([&] { put_all(second, shape, 1); });
  const auto slots_of = [&](Lane& lane) {
    return std::span(reinterpret_cast<std::uint64_t*>(lane.lane.as<LaneBlock>().messages(shape)),
                     slots * elements);
  };
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      wrong += grab_some(port, shape, left);
      if (grabbing.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      bag::close(port);
      while (!bag::is_untouched(port)) std::this_thread::yield();
      for (Lane* const lane : {&first, &second}) std::ranges::fill(slots_of(*lane), used_again);
    });
  for (std::thread& thread : threads) thread.join();
  for (Lane* const lane : {&first, &second})
    for (const std::uint64_t number : slots_of(*lane)) wrong += number != used_again ? 1 : 0;
  return wrong;
}

struct AskedPort : GrabPort {
  std::vector<unsigned>& asked;

  template <protocol::Order>
  std::uint64_t load_writing(Source source) const {
    return ++asked[source] < 3 ? 1 : 0;
  }
};

// Each source that is writing is asked each time: what their ports count runs for all at once.
TEST(BagThreads, AllSourcesAreAskedWhetherTheyWrite) {
  const BagShape shape{1, elements, sizeof(std::uint64_t)};
  Lane first(shape), second(shape);
  std::atomic<Source> next{0};
  std::vector<unsigned> asked(2, 0);
  AskedPort port{{{&first, &second}, next, 1}, asked};
  EXPECT_FALSE(bag::is_untouched(port));
  EXPECT_FALSE(bag::is_untouched(port));
  EXPECT_TRUE(bag::is_untouched(port));
  EXPECT_EQ(asked, (std::vector<unsigned>{3, 3}));
}

TEST(BagThreads, NothingComesIntoTheSlotsOfABagThatHasClosed) {
  std::minstd_rand random(3);
  for (unsigned repeat = 0; repeat < (explorer::long_run() ? 5000u : 200u); ++repeat)
    EXPECT_EQ(close_behind(static_cast<std::int64_t>(random() % 40), 1 + random() % 3), 0u)
        << "repeat " << repeat;
}

}  // namespace
}  // namespace penstock::threads
