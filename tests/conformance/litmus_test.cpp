// SPDX-License-Identifier: Apache-2.0
// G4: the litmus programs. Whatever the order of the two sides, the sizes, kinds of send, queues
// and delays: they complete, and every message is whole. Several repeats of a program stand back to
// back on the stream, without a wait of the host.
#include <gtest/gtest.h>

#include "support/environment.hpp"
#include "support/program.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

// What is combined with each size; a short run takes some of the list for each size, in turn.
std::vector<Shape> variants() {
  constexpr Memory ordinary = Memory::ordinary, allocated = Memory::allocated;
  std::vector<Shape> all(6);
  all[1] = {.memory_a = allocated, .memory_b = allocated, .extra = 64};
  all[2] = {.memory_a = allocated, .memory_b = ordinary, .shift = 3, .extra = 100};
  all[3] = {.memory_a = ordinary, .memory_b = allocated, .shift = 1, .slow = '*'};
  all[4] = {.memory_a = allocated, .memory_b = allocated, .shift = 5, .slow = '*'};
  all[5] = {.memory_a = ordinary, .memory_b = ordinary, .shift = 8, .extra = 1};
  return all;
}

class Litmus : public ::testing::Test {
 protected:
  // The program at all sizes; `change` sets what the litmus is about.
  template <typename Change>
  void sweep(Program program, const std::vector<Kind>& kinds, Change change) {
    const std::vector<Shape> all = variants();
    const std::size_t taken = long_run() ? all.size() : 1;
    for (const Kind kind : kinds) {
      program.kind = kind;
      for (const std::size_t bytes : protocol_sizes()) {
        for (std::size_t i = 0; i < taken; ++i) {
          Shape shape = all[next_++ % all.size()];
          shape.bytes = bytes;
          shape.repeats = size() > 2 ? 3 : 6;
          change(shape);
          run_program(program, shape);
          if (HasFailure()) return;
        }
      }
    }
  }
  void sweep(const Program& program, const std::vector<Kind>& kinds) {
    sweep(program, kinds, [](Shape&) {});
  }

 private:
  std::size_t next_ = seed() % 6;
};

const Program l1{"L1", "s1 w1 s2 w2", "r1 r2 w2 w1"};
const Program l2{"L2", "s1 r2 w2 w1", "r1 w1 s2 w2"};
const Program l3{"L3", "s1 r2 w*", "s2 r1 w*"};

TEST_F(Litmus, G4_L1_ReceiverWaitsInOppositeOrder) {
  sweep(l1, {Kind::standard});
}

TEST_F(Litmus, G4_L2_WaitsForTheAnswerFirst) {
  sweep(l2, plain_kinds);
}

TEST_F(Litmus, G4_L3_BothSendAndReceiveThenWaitForAll) {
  sweep(l3, plain_kinds);
}

TEST_F(Litmus, G4_L4_TwoQueues) {
  for (const Program& program : {l1, l2, l3})
    sweep(program, plain_kinds, [](Shape& shape) { shape.lanes = 2; });
}

TEST_F(Litmus, G4_L5_SlowFunctionOnOneSide) {
  for (const char side : {'a', 'b'}) {
    for (const Program& program : {l1, l2, l3}) {
      sweep(program, plain_kinds, [side](Shape& shape) {
        shape.slow = side;
        shape.repeats = 2;
      });
    }
  }
}

TEST_F(Litmus, G4_L6_StartFindsItsSlotFree) {
  const Program program{"L6", times("s1 w1", slots() + 1) + "s2 w2",
                        times("r1 w1", slots()) + "r1 r2 w2 w1"};
  sweep(program, plain_kinds);
}

TEST_F(Litmus, G4_L7_OnlyTheReceiverCanFinish) {
  const Program program{"L7", times("s1 w1", slots()) + "s1 r2 w2 w1",
                        times("r1 w1", slots() + 1) + "s2 w2"};
  sweep(program, plain_kinds);
}

TEST_F(Litmus, G4_L8_SynchronousSendEndsWithTheReceivesStart) {
  sweep(l1, {Kind::synchronous});
}

TEST_F(Litmus, G4_L9_MessageIsAProofForAReadySend) {
  const Program program{"L9", "r1 w1 s2 w2", "r2 s1 w1 w2", Kind::ready, {1}};
  for (const std::size_t token : {std::size_t{1}, eager_max() + 1}) {
    sweep(program, {Kind::ready}, [token](Shape& shape) { shape.plain_bytes = token; });
  }
}

TEST_F(Litmus, G4_L9_DoubleBufferedHaloOfReadySends) {
  Program program{
      "L9 halo", "r4 s1 w1 w2 r2 s3 w3 w4", "r3 s2 w2 w1 r1 s4 w4 w3", Kind::ready, {5, 6}};
  program.first_a = "r2 s5 r6 w5 w6";
  program.first_b = "r1 r5 s6 w5 w6";
  program.last_a = "s1 w1 w2";
  program.last_b = "s2 w2 w1";
  sweep(program, {Kind::ready});
}

TEST_F(Litmus, G4_L10_WaitForAllAgainstWaitsOneByOne) {
  sweep({"L10", "s1 s2 w*", "r1 w1 r2 w2"}, plain_kinds);
  sweep({"L10 opposite", "s1 s2 w*", "r1 r2 w-"}, plain_kinds);
  sweep({"L10 crossed", "s1 s2 r3 r4 w*", "s4 s3 r2 r1 w-"}, plain_kinds);
}

TEST_F(Litmus, G4_BufferedSendsInTheSamePrograms) {
  // The answer bounds how many messages are on their way, as a buffered send's SLOTS demand.
  for (const Program& program : {l2, l3}) sweep(program, {Kind::buffered});
}

TEST_F(Litmus, G6_L14_EpochsMixTheirPaths) {
  const Program program{"L14", "s1 w1 r2 w2 s3 r4 w*", "r1 w1 s2 w2 r3 s4 w-"};
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{200}, eager_max(), eager_max() + 1, std::size_t{300000}}) {
    for (const Kind kind : plain_kinds) {
      Program chosen = program;
      chosen.kind = kind;
      Shape shape{.bytes = bytes, .slow = '*', .repeats = fewer_rounds(size() > 2 ? 40 : 100, 4)};
      if (long_run()) shape.repeats = 2000;
      if (kind == Kind::standard) shape.memory_a = shape.memory_b = Memory::allocated;
      run_program(chosen, shape);
      if (HasFailure()) return;
    }
  }
}

TEST_F(Litmus, G6_L1_TenThousandEpochsWithoutAWaitOfTheHost) {
  const int repeats = fewer_rounds(size() > 2 ? 1000 : 10000, 10);
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{3000}, eager_max() + 1}) {
    Shape shape{.bytes = bytes, .repeats = repeats};
    // Those of the rendezvous stand in lockstep: a tenth of them shows as much, unless there is
    // time.
    if (bytes > eager_max() && !long_run()) shape.repeats /= 10;
    run_program(l1, shape);
    shape.memory_a = shape.memory_b = Memory::allocated;
    if (!long_run()) shape.repeats /= 5;
    run_program(l1, shape);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace penstock::test
