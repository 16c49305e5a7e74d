// SPDX-License-Identifier: Apache-2.0
// What kernels of programs run (penstock/device_code.cuh), by threads of the host: every byte of
// every epoch, each way of receiving, objects in a row, what is refused, and what ends a loop.
// There is no GPU in it: memory orders are the processor's.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "penstock/device_code.cuh"

namespace penstock::test {
namespace {

using namespace kernel_code;
using namespace kernel_code::peer_gpu;
using gpu::Failure;

// One end, as its process has it.
struct End {
  alignas(128) PrivateWords words{};
  alignas(64) HostNotice notice{};
  alignas(64) gpu::Report report{};
  alignas(128) gpu::QueueFailure queue_failure{};
  Word64 crowd = 0;
  std::vector<std::byte> buffer;
  DeviceHalf half;

  Failure failure() const { return static_cast<Failure>(report.failed >> 32); }
};

// A matched pair, of a message in so many parts.
class PairOfEnds {
 public:
  PairOfEnds(std::size_t bytes, unsigned parts, Mode mode = Mode::standard) : bytes_(bytes) {
    const auto units = static_cast<std::uint32_t>(bytes == 0 ? 1 : (bytes + 7) / 8);
    ring_.assign(std::size_t{ring_slots} * units, Cell{});
    for (End* end : {&sender, &receiver}) {
      end->buffer.assign(bytes, std::byte{0xee});
      end->words.life = 7;
      end->report.crowd = &end->crowd;
      end->report.room = ~0u;
      DeviceHalf& half = end->half;
      half.words = end->words.part;
      half.cts = &cts_;
      half.fin = fin_;
      half.ring = ring_.data();
      half.buffer = end->buffer.data();
      half.notice = &end->notice;
      half.report = &end->report;
      half.queue_failure = &end->queue_failure;
      half.life = 7;
      half.bytes = bytes;
      half.units = units;
      half.part_units = (units + parts - 1) / parts;
      half.parts = static_cast<std::uint16_t>(parts);
      half.wait_blocks = 8;
      half.sends = end == &sender;
      half.in_words = bytes % 8 == 0 && bytes != 0;
      half.mode = mode;
    }
  }
  std::size_t bytes() const { return bytes_; }

  End sender, receiver;

 private:
  std::size_t bytes_;
  std::vector<Cell> ring_;
  alignas(128) Word64 cts_ = 0;
  alignas(128) Word64 fin_[most_parts]{};
};

std::byte expected(std::uint64_t epoch, std::size_t at) {
  return static_cast<std::byte>((epoch * 131 + at * 7 + at / 256) & 0xff);
}

void fill(End& end, std::size_t from, std::size_t to, std::uint64_t epoch) {
  for (std::size_t i = from + thread_in_block(); i < to; i += threads_of_block())
    end.buffer[i] = expected(epoch, i);
}
std::size_t count_wrong(End& end, std::size_t from, std::size_t to, std::uint64_t epoch) {
  std::size_t wrong = 0;
  for (std::size_t i = from + thread_in_block(); i < to; i += threads_of_block()) {
    if (end.buffer[i] != expected(epoch, i)) ++wrong;
    end.buffer[i] = std::byte{0xee};
  }
  return wrong;
}

enum class Way { wait, look, poll, in_place, look_then_wait };

bool take(ShareReceiver& receive, Way way) {
  if (way == Way::look)
    while (!receive.wait_for(3))
      if (!receive.serves()) return false;
  if (way == Way::poll)
    while (!receive.arrived())
      if (!receive.serves()) return false;
  if (way == Way::in_place && !receive.wait_in_place()) return false;
  if (way == Way::look_then_wait && receive.wait_for(1)) return true;
  return way == Way::look || receive.wait();
}

struct Shape {
  dim3 threads;
  unsigned blocks;
};

// Both ends at once, each by blocks of its own.
std::size_t exchange(PairOfEnds& pair, std::uint64_t epochs, Shape sends, Shape receives, Way way) {
  std::atomic<std::size_t> wrong{0};
  std::vector<std::unique_ptr<RunningBlock>> blocks;
  for (unsigned i = 0; i < sends.blocks; ++i)
    blocks.push_back(std::make_unique<RunningBlock>(sends.threads, i, sends.blocks, [&, i] {
      ShareSender send(pair.sender.half, i, sends.blocks);
      for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
        fill(pair.sender, send.begin(), send.end(), epoch);
        if (!send.start() || !send.wait()) ++wrong;
      }
    }));
  for (unsigned i = 0; i < receives.blocks; ++i)
    blocks.push_back(std::make_unique<RunningBlock>(receives.threads, i, receives.blocks, [&, i] {
      ShareReceiver receive(pair.receiver.half, i, receives.blocks);
      for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
        if (!receive.start() || !take(receive, way)) ++wrong;
        wrong += count_wrong(pair.receiver, receive.begin(), receive.end(), epoch);
      }
    }));
  blocks.clear();
  return wrong;
}

TEST(KernelCode, EveryByteOfEveryEpochWhateverTheShares) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{100}, std::size_t{4096}})
    for (const unsigned parts : {1u, 3u})
      for (const Shape sends : {Shape{{1, 1, 1}, 1}, Shape{{2, 2, 1}, 2}})
        for (const Shape receives : {Shape{{3, 1, 1}, 1}, Shape{{2, 1, 1}, 3}}) {
          PairOfEnds pair(bytes, parts);
          EXPECT_EQ(exchange(pair, 12, sends, receives, Way::wait), 0u)
              << bytes << " bytes, " << parts << " parts";
        }
}

TEST(KernelCode, EachWayOfReceiving) {
  for (const Way way : {Way::wait, Way::look, Way::poll, Way::in_place, Way::look_then_wait})
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{100}, std::size_t{1000}}) {
      PairOfEnds pair(bytes, 2);
      EXPECT_EQ(exchange(pair, 30, {{2, 1, 1}, 1}, {{3, 1, 1}, 2}, way), 0u)
          << bytes << " bytes, way " << static_cast<int>(way);
    }
}

TEST(KernelCode, SynchronousMessagesAreReceivedByOneBlock) {
  PairOfEnds pair(1000, 3, Mode::synchronous);
  EXPECT_EQ(exchange(pair, 50, {{2, 1, 1}, 3}, {{2, 1, 1}, 1}, Way::wait), 0u);
  PairOfEnds shared(1000, 3, Mode::synchronous);
  {
    RunningBlock late({2, 1, 1}, 0, 2, [&] {
      ShareReceiver receive(shared.receiver.half, 0, 2);
      EXPECT_FALSE(receive.start());
      EXPECT_FALSE(receive.wait());
    });
  }
  EXPECT_EQ(shared.receiver.failure(), Failure::shares);
}

// The second object begins behind all that the first has stored, in each of its threads.
TEST(KernelCode, ObjectsInARow) {
  for (int round = 0; round < 30; ++round) {
    PairOfEnds pair(64, 1);
    std::atomic<std::size_t> wrong{0};
    RunningBlock sends({4, 1, 1}, 0, 1, [&] {
      for (std::uint64_t epoch = 1; epoch <= 4; ++epoch) {
        fill(pair.sender, 0, 64, epoch);
        if (!ShareSender(pair.sender.half, 0, 1).start()) ++wrong;
        if (!ShareSender(pair.sender.half, 0, 1).wait()) ++wrong;
      }
    });
    RunningBlock receives({4, 1, 1}, 0, 1, [&] {
      for (std::uint64_t epoch = 1; epoch <= 4; ++epoch) {
        if (!ShareReceiver(pair.receiver.half, 0, 1).wait()) ++wrong;
        wrong += count_wrong(pair.receiver, 0, 64, epoch);
      }
    });
    EXPECT_EQ(wrong, 0u);
  }
}

TEST(KernelCode, PeekIsOfTheShareAlone) {
  PairOfEnds pair(64, 2);
  RunningBlock({2, 1, 1}, 0, 1, [&] {
    fill(pair.sender, 0, 64, 1);
    EXPECT_TRUE(ShareSender(pair.sender.half, 0, 1).start());
  });
  RunningBlock({2, 1, 1}, 0, 2, [&] {
    ShareReceiver receive(pair.receiver.half, 0, 2);
    EXPECT_TRUE(receive.wait_in_place());
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_TRUE(receive.peek(i, word));
      std::uint32_t right = 0;
      for (unsigned byte = 0; byte < 4; ++byte)
        right |= static_cast<std::uint32_t>(expected(1, 4 * i + byte)) << (8 * byte);
      EXPECT_EQ(word, right);
    }
    EXPECT_FALSE(receive.peek(std::size_t{8}, word)) << "another block's";
    EXPECT_FALSE(receive.peek(std::size_t{16}, word)) << "behind the message";
    EXPECT_TRUE(receive.done());
    EXPECT_FALSE(receive.peek(std::size_t{0}, word)) << "the next epoch's has not come";
  });
}

// A start never waits, and a wait holds where the slots are full, until the receiver has taken one.
TEST(KernelCode, AWaitHoldsWhereTheSlotsAreFull) {
  PairOfEnds pair(8, 1);
  std::atomic<int> sent{0};
  RunningBlock sends({1, 1, 1}, 0, 1, [&] {
    ShareSender send(pair.sender.half, 0, 1);
    for (std::uint64_t epoch = 1; epoch <= 12; ++epoch) {
      fill(pair.sender, 0, 8, epoch);
      EXPECT_TRUE(send.start());
      ++sent;
      EXPECT_TRUE(send.wait());
    }
  });
  while (sent < static_cast<int>(ring_slots)) std::this_thread::yield();
  EXPECT_EQ(sent, static_cast<int>(ring_slots));
  RunningBlock({1, 1, 1}, 0, 1, [&] {
    ShareReceiver receive(pair.receiver.half, 0, 1);
    for (std::uint64_t epoch = 1; epoch <= 12; ++epoch) {
      EXPECT_TRUE(receive.wait());
      EXPECT_EQ(count_wrong(pair.receiver, 0, 8, epoch), 0u);
    }
  });
}

Failure after(End& end, unsigned index, unsigned blocks, const std::function<bool()>& misuse) {
  {
    RunningBlock({2, 1, 1}, index, blocks, [&] { EXPECT_FALSE(misuse()); });
  }
  EXPECT_EQ(end.queue_failure.failed, 1u);
  return end.failure();
}

TEST(KernelCode, MisuseIsReported) {
  PairOfEnds twice(8, 1), unstarted(8, 1), late(8, 1), freed(8, 1);
  EXPECT_EQ(after(twice.sender, 0, 1,
                  [&] {
                    ShareSender send(twice.sender.half, 0, 1);
                    return send.start() && send.start();
                  }),
            Failure::started_twice);
  EXPECT_EQ(after(unstarted.sender, 0, 1,
                  [&] { return ShareSender(unstarted.sender.half, 0, 1).wait(); }),
            Failure::not_started);
  EXPECT_EQ(
      after(late.receiver, 8, 9, [&] { return ShareReceiver(late.receiver.half, 0, 1).wait(); }),
      Failure::waits_late);
  freed.sender.words.life = 0;
  EXPECT_EQ(after(freed.sender, 0, 1, [&] { return ShareSender(freed.sender.half, 0, 1).start(); }),
            Failure::handle_freed);
  EXPECT_EQ(freed.sender.words.part[0].given_up, 0u) << "which may be another half's word";
}

// The host gives the half up, or ends what waits, while a kernel looks again and again.
TEST(KernelCode, LoopsOfLooksEnd) {
  for (const Way way : {Way::look, Way::poll, Way::wait, Way::in_place})
    for (const bool abort : {false, true}) {
      if (!abort && (way == Way::wait || way == Way::in_place)) continue;  // by the host's word
      PairOfEnds pair(8, 1);
      std::atomic<int> begun{0};
      RunningBlock looks({2, 1, 1}, 0, 1, [&] {
        ShareReceiver receive(pair.receiver.half, 0, 1);
        ++begun;
        EXPECT_FALSE(take(receive, way));
        EXPECT_FALSE(receive.serves());
      });
      while (begun < 2) std::this_thread::yield();
      Word64& word = abort ? pair.receiver.report.abort : pair.receiver.words.part[0].given_up;
      __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    }
}

}  // namespace
}  // namespace penstock::test
