// SPDX-License-Identifier: Apache-2.0
#include "protocol/threads/run.hpp"

#include <mutex>
#include <random>
#include <thread>

namespace penstock::threads {

namespace {

using explorer::Call;
using explorer::pair_of;
using explorer::side_of;

class Run {
 public:
  Run(const std::vector<PairSpec>& kinds, const Setting& setting) : setting_(setting) {
    for (const PairSpec& kind : kinds) pairs_.push_back(make_pair(kind, setting.form));
  }

  void thread(const explorer::Program& program, unsigned number) {
    std::minstd_rand random(static_cast<unsigned>(setting_.seed * 8 + number));
    Counts records{}, awaits{};
    for (unsigned repeat = 0; repeat < setting_.repeats; ++repeat) {
      for (const Call& call : program) {
        if (failed_.load(std::memory_order_relaxed)) return;
        delay(random);
        run(call, random, records, awaits);
      }
    }
  }

  std::string failure() const { return failure_; }

 private:
  using Counts = std::array<unsigned, explorer::max_events>;

  void run(const Call& call, std::minstd_rand& random, Counts& records, Counts& awaits) {
    switch (call.kind) {
      case Call::Kind::start:
        start(call.endpoint);
        break;
      case Call::Kind::wait:
        wait(call.endpoints, random);
        break;
      case Call::Kind::close:
        pairs_[pair_of(call.endpoint)]->give_up(side_of(call.endpoint));
        break;
      case Call::Kind::record:
        events_[call.number].store(++records[call.number], std::memory_order_release);
        break;
      case Call::Kind::await:
        ++awaits[call.number];
        while (events_[call.number].load(std::memory_order_acquire) < awaits[call.number] &&
               !failed_)
          yield();
        break;
      case Call::Kind::zero:
        pairs_[call.number]->zero();
        pairs_[call.number]->renew(Side::sender);
        break;
      case Call::Kind::renew:
        pairs_[call.number]->renew(Side::receiver);
        break;
    }
  }

  void start(unsigned endpoint) {
    Pair& pair = *pairs_[pair_of(endpoint)];
    if (side_of(endpoint) == Side::sender) {
      pair.fill_send_buffer();
      while (!pair.settle_send() && !failed_.load(std::memory_order_relaxed)) yield();
      if (pair.start_send() != protocol::StartOutcome::started)
        fail("a start was refused", pair, Side::sender);
      return;
    }
    if (!pair.receive_buffer_untouched())
      fail("the receive buffer was written before its receive was started (G5)", pair,
           Side::receiver);
    pair.start_receive();
  }

  // Looks at each request in turn, as a stream's worker does.
  void wait(std::uint8_t endpoints, std::minstd_rand& random) {
    while (endpoints != 0 && !failed_.load(std::memory_order_relaxed)) {
      bool moved = false;
      for (unsigned e = 0; e < explorer::max_endpoints; ++e) {
        if (!(endpoints >> e & 1) || !poll(e)) continue;
        endpoints &= static_cast<std::uint8_t>(~(1u << e));
        moved = true;
      }
      if (!moved) yield();
      delay(random);
    }
  }

  bool poll(unsigned endpoint) {
    Pair& pair = *pairs_[pair_of(endpoint)];
    if (side_of(endpoint) == Side::sender) {
      if (!pair.wait_send()) return false;
      pair.overwrite_send_buffer();
      return true;
    }
    if (!pair.wait_receive()) return false;
    if (!pair.message_arrived())
      fail("a receive ended with another message (G6)", pair, Side::receiver);
    pair.clear_receive_buffer();
    return true;
  }

  // Mostly none, sometimes long enough for the other side to run far ahead.
  void delay(std::minstd_rand& random) const {
    if (!setting_.delays) return;
    const unsigned die = static_cast<unsigned>(random() % 16);
    if (die < 10) return;
    if (die == 15) return yield();
    volatile unsigned sink = 0;
    for (unsigned i = 0; i < (1u << (die - 6)); ++i) sink = i;
    static_cast<void>(sink);
  }

  static void yield() { std::this_thread::yield(); }

  void fail(const char* what, const Pair& pair, Side side) {
    const std::lock_guard lock(failure_mutex_);
    if (failure_.empty())
      failure_ = std::string(what) + ", " + explorer::describe(pair.spec()) + ", epoch " +
                 std::to_string(pair.epoch(side));
    failed_ = true;
  }

  Setting setting_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::array<std::atomic<unsigned>, explorer::max_events> events_{};
  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  std::string failure_;
};

}  // namespace

std::string run_threads(const std::vector<PairSpec>& kinds,
                        const std::vector<std::string>& programs, const Setting& setting) {
  Run run(kinds, setting);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < programs.size(); ++t)
    threads.emplace_back(
        [&run, &programs, t] { run.thread(explorer::parse_program(programs[t]), t); });
  for (std::thread& thread : threads) thread.join();
  return run.failure();
}

}  // namespace penstock::threads
