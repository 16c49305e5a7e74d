// SPDX-License-Identifier: Apache-2.0
// The memory model against the litmus tests whose outcomes the C++ standard settles: what must be
// possible is possible (otherwise the explorer would overlook defects), what must not happen does
// not (otherwise it would report ghosts).
#include <gtest/gtest.h>

#include "protocol/model/litmus.hpp"

namespace penstock::explorer {
namespace {

constexpr unsigned x = 0, y = 1, z = 2;

Shape shape_of(unsigned threads, unsigned cells = 0) {
  Shape shape;
  shape.locations = 3;
  shape.cells = cells;
  shape.threads = threads;
  shape.fences = true;
  shape.mixed_fences = true;
  shape.readers.fill(static_cast<std::uint8_t>((1u << threads) - 1));
  return shape;
}

using Registers = std::vector<int>;

Outcomes store_buffering(Order store, Order load, bool fences) {
  const Shape shape = shape_of(2);
  auto side = [=](unsigned own, unsigned other, unsigned result) {
    return [=](LitmusThread& t, Registers& r) {
      t.store(own, store, 1);
      if (fences) t.fence();
      r[result] = t.load(other, load);
    };
  };
  return run_litmus(shape, 2, {side(x, y, 0), side(y, x, 1)});
}

TEST(MemoryModel, StoreBufferingIsVisibleWithReleaseAndAcquire) {
  EXPECT_EQ(store_buffering(Order::release, Order::acquire, false),
            (Outcomes{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}
TEST(MemoryModel, StoreBufferingIsForbiddenByFences) {
  EXPECT_EQ(store_buffering(Order::relaxed, Order::relaxed, true),
            (Outcomes{{0, 1}, {1, 0}, {1, 1}}));
}
TEST(MemoryModel, StoreBufferingIsForbiddenBySequentialConsistency) {
  EXPECT_EQ(store_buffering(Order::seq_cst, Order::seq_cst, false),
            (Outcomes{{0, 1}, {1, 0}, {1, 1}}));
}
TEST(MemoryModel, StoreBufferingNeedsBothSides) {
  EXPECT_TRUE(store_buffering(Order::seq_cst, Order::acquire, false).contains({0, 0}));
  EXPECT_TRUE(store_buffering(Order::release, Order::seq_cst, false).contains({0, 0}));
}

Outcomes message_passing(Order store, Order load) {
  const Shape shape = shape_of(2);
  return run_litmus(shape, 2,
                    {[=](LitmusThread& t, Registers&) {
                       t.store(x, Order::relaxed, 1);
                       t.store(y, store, 1);
                     },
                     [=](LitmusThread& t, Registers& r) {
                       r[0] = t.load(y, load);
                       r[1] = t.load(x, Order::relaxed);
                     }});
}

TEST(MemoryModel, MessagePassingNeedsReleaseAndAcquire) {
  EXPECT_EQ(message_passing(Order::release, Order::acquire), (Outcomes{{0, 0}, {0, 1}, {1, 1}}));
  EXPECT_TRUE(message_passing(Order::relaxed, Order::acquire).contains({1, 0}));
  EXPECT_TRUE(message_passing(Order::release, Order::relaxed).contains({1, 0}));
}

TEST(MemoryModel, MessagePassingByFences) {
  const Shape shape = shape_of(2);
  auto run = [&](bool first, bool second) {
    return run_litmus(shape, 2,
                      {[=](LitmusThread& t, Registers&) {
                         t.store(x, Order::relaxed, 1);
                         if (first) t.fence();
                         t.store(y, Order::relaxed, 1);
                       },
                       [=](LitmusThread& t, Registers& r) {
                         r[0] = t.load(y, Order::relaxed);
                         if (second) t.fence();
                         r[1] = t.load(x, Order::relaxed);
                       }});
  };
  EXPECT_FALSE(run(true, true).contains({1, 0}));
  EXPECT_TRUE(run(true, false).contains({1, 0}));
  EXPECT_TRUE(run(false, true).contains({1, 0}));
}

TEST(MemoryModel, NonAtomicDataRacesUnlessPassedByReleaseAndAcquire) {
  const Shape shape = shape_of(2, 1);
  auto run = [&](Order store, Order load) {
    return run_litmus(shape, 1,
                      {[=](LitmusThread& t, Registers&) {
                         t.write(0, 7);
                         t.store(x, store, 1);
                       },
                       [=](LitmusThread& t, Registers& r) {
                         if (t.load(x, load) == 1) r[0] = t.read(0);
                       }});
  };
  EXPECT_EQ(run(Order::release, Order::acquire), (Outcomes{{0}, {7}}));
  EXPECT_TRUE(run(Order::relaxed, Order::acquire).contains({-1}));
  EXPECT_TRUE(run(Order::release, Order::relaxed).contains({-1}));
}

TEST(MemoryModel, OverwritingWhatAnotherStillReadsIsARace) {
  const Shape shape = shape_of(2, 1);
  auto run = [&](Order store) {
    return run_litmus(shape, 1,
                      {[=](LitmusThread& t, Registers& r) {
                         r[0] = t.read(0);
                         t.store(x, store, 1);
                       },
                       [=](LitmusThread& t, Registers&) {
                         if (t.load(x, Order::acquire) == 1) t.write(0, 7);
                       }});
  };
  EXPECT_EQ(run(Order::release), (Outcomes{{0}}));
  EXPECT_TRUE(run(Order::relaxed).contains({-1}));
}

TEST(MemoryModel, SequentiallyConsistentFencesAloneDoNotPassData) {
  const Shape shape = shape_of(2, 1);
  const Outcomes outcomes = run_litmus(shape, 1,
                                       {[](LitmusThread& t, Registers&) {
                                          t.write(0, 7);
                                          t.fence();
                                        },
                                        [](LitmusThread& t, Registers& r) {
                                          t.fence();
                                          r[0] = t.read(0);
                                        }});
  EXPECT_TRUE(outcomes.contains({-1}));
}

// A seqlock's reader: what relaxed loads saw is joined by an acquire fence, and what came before
// the writer's fence is known with it.
TEST(MemoryModel, AcquireFenceCompletesRelaxedLoads) {
  const Shape shape = shape_of(2);
  const auto run = [&](bool writer_fences, bool reader_fences) {
    return run_litmus(shape, 2,
                      {[=](LitmusThread& t, Registers&) {
                         t.store(x, Order::release, 1);
                         if (writer_fences) t.fence();
                         t.store(y, Order::relaxed, 1);
                       },
                       [=](LitmusThread& t, Registers& r) {
                         r[0] = t.load(y, Order::relaxed);
                         if (reader_fences) t.fence(Order::acquire);
                         r[1] = t.load(x, Order::acquire);
                       }});
  };
  EXPECT_FALSE(run(true, true).contains({1, 0}));
  EXPECT_TRUE(run(false, true).contains({1, 0}));
  EXPECT_TRUE(run(true, false).contains({1, 0}));
}

TEST(MemoryModel, AcquireFencesDoNotForbidStoreBuffering) {
  const Shape shape = shape_of(2);
  auto side = [](unsigned own, unsigned other, unsigned result) {
    return [=](LitmusThread& t, Registers& r) {
      t.store(own, Order::release, 1);
      t.fence(Order::acquire);
      r[result] = t.load(other, Order::acquire);
    };
  };
  EXPECT_TRUE(run_litmus(shape, 2, {side(x, y, 0), side(y, x, 1)}).contains({0, 0}));
}

TEST(MemoryModel, LoadBufferingIsExcluded) {
  const Shape shape = shape_of(2);
  auto side = [](unsigned from, unsigned to, unsigned result) {
    return [=](LitmusThread& t, Registers& r) {
      r[result] = t.load(from, Order::relaxed);
      t.store(to, Order::relaxed, 1);
    };
  };
  EXPECT_EQ(run_litmus(shape, 2, {side(x, y, 0), side(y, x, 1)}),
            (Outcomes{{0, 0}, {0, 1}, {1, 0}}));
}

TEST(MemoryModel, CoherenceOfOneLocation) {
  const Shape shape = shape_of(2);
  const Outcomes outcomes = run_litmus(shape, 2,
                                       {[](LitmusThread& t, Registers&) {
                                          t.store(x, Order::relaxed, 1);
                                          t.store(x, Order::relaxed, 2);
                                        },
                                        [](LitmusThread& t, Registers& r) {
                                          r[0] = t.load(x, Order::relaxed);
                                          r[1] = t.load(x, Order::relaxed);
                                        }});
  EXPECT_EQ(outcomes, (Outcomes{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
}

// Two writers, two readers that may disagree on which write came first.
Outcomes independent_reads(Order store, Order load, bool fences) {
  const Shape shape = shape_of(4);
  auto writer = [=](unsigned location) {
    return [=](LitmusThread& t, Registers&) { t.store(location, store, 1); };
  };
  auto reader = [=](unsigned first, unsigned second, unsigned result) {
    return [=](LitmusThread& t, Registers& r) {
      r[result] = t.load(first, load);
      if (fences) t.fence();
      r[result + 1] = t.load(second, load);
    };
  };
  return run_litmus(shape, 4, {writer(x), writer(y), reader(x, y, 0), reader(y, x, 2)});
}

TEST(MemoryModel, IndependentReadsMayDisagreeWithAcquire) {
  EXPECT_TRUE(independent_reads(Order::release, Order::acquire, false).contains({1, 0, 1, 0}));
}
TEST(MemoryModel, IndependentReadsAgreeWithSequentialConsistency) {
  EXPECT_FALSE(independent_reads(Order::seq_cst, Order::seq_cst, false).contains({1, 0, 1, 0}));
  EXPECT_FALSE(independent_reads(Order::relaxed, Order::relaxed, true).contains({1, 0, 1, 0}));
}

TEST(MemoryModel, WriteToReadCausality) {
  const Shape shape = shape_of(3);
  const Outcomes outcomes =
      run_litmus(shape, 3,
                 {[](LitmusThread& t, Registers&) { t.store(x, Order::relaxed, 1); },
                  [](LitmusThread& t, Registers& r) {
                    r[0] = t.load(x, Order::relaxed);
                    t.store(y, Order::release, 1);
                  },
                  [](LitmusThread& t, Registers& r) {
                    r[1] = t.load(y, Order::acquire);
                    r[2] = t.load(x, Order::relaxed);
                  }});
  EXPECT_FALSE(outcomes.contains({1, 1, 0}));
  EXPECT_TRUE(outcomes.contains({0, 1, 0}));
}

TEST(MemoryModel, ExchangesAreTotallyOrdered) {
  const Shape shape = shape_of(2);
  auto side = [](Value own, unsigned result) {
    return [=](LitmusThread& t, Registers& r) { r[result] = t.exchange(z, Order::relaxed, own); };
  };
  EXPECT_EQ(run_litmus(shape, 2, {side(1, 0), side(2, 1)}), (Outcomes{{0, 1}, {2, 0}}));
}

TEST(MemoryModel, ExchangeContinuesAReleaseSequence) {
  const Shape shape = shape_of(3, 1);
  const Outcomes outcomes = run_litmus(shape, 1,
                                       {[](LitmusThread& t, Registers&) {
                                          t.write(0, 7);
                                          t.store(x, Order::release, 1);
                                        },
                                        [](LitmusThread& t, Registers&) {
                                          if (t.load(x, Order::relaxed) == 1)
                                            t.exchange(x, Order::relaxed, 2);
                                        },
                                        [](LitmusThread& t, Registers& r) {
                                          if (t.load(x, Order::acquire) == 2) r[0] = t.read(0);
                                        }});
  EXPECT_EQ(outcomes, (Outcomes{{0}, {7}}));
}

TEST(MemoryModel, UnorderedStoresToOneLocationAreReported) {
  const Shape shape = shape_of(2);
  auto side = [](Value own) {
    return [=](LitmusThread& t, Registers&) { t.store(x, Order::release, own); };
  };
  EXPECT_TRUE(run_litmus(shape, 1, {side(1), side(2)}).contains({-1}));
}

TEST(MemoryModel, SavedStatesComeBackEqual) {
  const Shape shape = shape_of(2, 2);
  Memory memory(shape);
  memory.write_cell(0, 1, 9);
  memory.store(0, x, Order::release, 3);
  memory.load(1, x, Order::acquire, 0);
  memory.fence(1);
  memory.settle(3);
  std::string first, second;
  memory.append(first);
  Memory copy(shape);
  const auto* end = copy.restore(reinterpret_cast<const std::uint8_t*>(first.data()));
  EXPECT_EQ(end, reinterpret_cast<const std::uint8_t*>(first.data()) + first.size());
  copy.append(second);
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace penstock::explorer
