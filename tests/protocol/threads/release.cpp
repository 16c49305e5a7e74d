// SPDX-License-Identifier: Apache-2.0
#include "protocol/threads/release.hpp"

#include <random>
#include <thread>

namespace penstock::threads {

namespace {

constexpr Epoch epochs = 6;
constexpr unsigned polls_between_checks = 4;

// One end, with the order of calls that plan/host_plan.cpp has.
class End {
 public:
  End(Pair& pair, Side side, std::uint64_t seed) : pair_(pair), side_(side), random_(seed) {
    released_in_ = 1 + random_() % (2 * epochs);  // in half of the runs: not at all
    released_after_ = static_cast<unsigned>(random_() % 32);
  }

  void run() {
    while (ended_ < epochs && start() && wait()) ++ended_;
    if (ended_ < epochs) give_up();
  }

  Epoch ended() const { return ended_; }
  const std::string& failure() const { return failure_; }

 private:
  // The user of a receive buffer uses it at once, where nothing may come into it any more.
  void give_up() {
    pair_.give_up(side_);
    if (side_ == Side::sender || !pair_.ends_untouched()) return;
    while (!pair_.is_untouched()) std::this_thread::yield();
    pair_.clear_receive_buffer();
  }

  bool start() {
    if (side_ == Side::receiver) {
      pair_.start_receive();
      return true;
    }
    pair_.fill_send_buffer();
    for (bool hopeless = false; !pair_.settle_send(); std::this_thread::yield()) {
      if (hopeless) return false;
      hopeless = pair_.peer_closed(side_);
    }
    return pair_.start_send() == protocol::StartOutcome::started;
  }

  bool wait() {
    for (unsigned looks = 0;; ++looks) {
      if (poll()) return true;
      if (released_in_ == ended_ + 1 && looks == released_after_) return false;
      if (looks % polls_between_checks == 0 && pair_.peer_closed(side_)) return poll();
      std::this_thread::yield();
    }
  }

  bool poll() {
    if (side_ == Side::sender) {
      if (!pair_.wait_send()) return false;
      pair_.overwrite_send_buffer();
      return true;
    }
    if (!pair_.wait_receive()) return false;
    if (!pair_.message_arrived()) failure_ = "a receive ended with another message (G6)";
    pair_.clear_receive_buffer();
    return true;
  }

  Pair& pair_;
  Side side_;
  std::minstd_rand random_;
  Epoch released_in_;
  unsigned released_after_;
  Epoch ended_ = 0;
  std::string failure_;
};

}  // namespace

std::string run_released(const PairSpec& kind, const Setting& setting) {
  for (unsigned repeat = 0; repeat < setting.repeats; ++repeat) {
    const auto pair = make_pair(kind, setting.form);
    const std::uint64_t seed = 1 + (setting.seed + repeat) * 2;
    End sender(*pair, Side::sender, seed), receiver(*pair, Side::receiver, seed + 1);
    std::thread from([&] { sender.run(); }), to([&] { receiver.run(); });
    from.join();
    to.join();
    for (const End* end : {&sender, &receiver})
      if (!end->failure().empty()) return end->failure();
    if (kind.path != Path::rendezvous) continue;
    if (pair->ends_untouched()) {
      if (!pair->receive_buffer_untouched())
        return "a buffer was written after its receive had been given up";
      continue;
    }
    // A large send that succeeded has moved its message before the receiver closed, and nobody has
    // touched it since.
    if (sender.ended() > receiver.ended() && !pair->holds(sender.ended()))
      return "a send succeeded without its message";
  }
  return "";
}

}  // namespace penstock::threads
