// SPDX-License-Identifier: Apache-2.0
// G9: a hang is reported and released; SIGUSR1 prints what the queues and matches wait for, if the
// program has no use for it.
#include "core/monitor.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "core/queues.hpp"
#include "core/waits.hpp"

namespace penstock::core {
namespace {

using base::Error;
using base::ErrorKind;
using std::chrono::milliseconds;

class TestWorld final : public group::World {
 public:
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte>) override { return {}; }
  const std::atomic<bool>& dead(int) const noexcept override { return dead_; }
  void watch(int patience) noexcept override {
    std::unique_lock lock(mutex_);
    ++watches_;
    last_patience_ = patience;
    changed_.notify_all();
    const auto woken = [&] { return std::exchange(woken_, false); };
    if (patience < 0) {
      changed_.wait(lock, woken);
    } else {
      changed_.wait_for(lock, milliseconds{patience}, woken);
    }
  }
  void wake() noexcept override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  // What the monitor asks for once it has answered the last wake.
  int patience_of_watch(int number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return watches_ >= number; });
    return last_patience_;
  }

 private:
  std::atomic<bool> dead_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  int watches_ = 0;
  int last_patience_ = 0;
};

class TestWaiter final : public transport::Waiter {
 public:
  TestWaiter() { set_label("receive from rank 3 (tag 7)"); }
  std::string describe() const override { return "epoch 17, waits for its data"; }
  void cancel_wait(const Error& error) noexcept override {
    const std::lock_guard lock(mutex_);
    released_.push_back(error);
    changed_.notify_all();
  }

  Error await_release() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !released_.empty(); });
    return released_.front();
  }
  std::size_t releases() {
    const std::lock_guard lock(mutex_);
    return released_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Error> released_;
};

class MonitorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "penstock-monitor-XXXXXX";
    const int file = mkstemp(name.data());
    ASSERT_GE(file, 0);
    close(file);
    file_ = name;
    base::log::configure(base::LogLevel::error, file_);
    stream = queues.create_stream(std::chrono::microseconds{0}, 1);
  }
  void TearDown() override {
    base::log::configure(base::LogLevel::warn, "");
    std::filesystem::remove(file_);
  }
  Queue& new_queue() { return *queues.queues().find(queues.create_queue(stream, {})); }
  std::string log_text() const {
    std::ostringstream all;
    all << std::ifstream(file_).rdbuf();
    return all.str();
  }
  void await_log(const std::string& part) const {
    while (log_text().find(part) == std::string::npos) std::this_thread::yield();
  }
  static auto disposition() {
    struct sigaction now {};
    sigaction(SIGUSR1, nullptr, &now);
    return now.sa_handler;
  }

  std::string file_;
  TestWorld world;
  Queues queues;
  std::uintptr_t stream = 0;
  TestWaiter waiter;
  base::Settings settings;
  std::string match_lines;
  const DescribeMatches matches = [this] { return match_lines; };
};

TEST_F(MonitorTest, TheTableHasALineForEveryQueue) {
  EXPECT_NE(describe_waits(queues, matches).find("there are none"), std::string::npos);
  Queue& waiting = new_queue();
  Queue& idle = new_queue();
  waiting.blocked_since(waiter);
  const std::string table = describe_waits(queues, matches);
  EXPECT_NE(table.find(
                "queue " + std::to_string(waiting.number()) +
                ": waits for receive from rank 3 (tag 7): epoch 17, waits for its data, for 0.0 s"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("queue " + std::to_string(idle.number()) + ": idle"), std::string::npos)
      << table;
  waiting.unblocked(waiter);
  waiting.fail(Error(ErrorKind::timeout, "over"));
  EXPECT_NE(describe_waits(queues, matches).find(": idle (failed)"), std::string::npos);
}

TEST_F(MonitorTest, TheTableHasTheMatchesToo) {
  match_lines = "\n  match: send to rank 1 waits";
  EXPECT_EQ(describe_waits(queues, matches), "what the queues and matches wait for:" + match_lines);
  new_queue();
  EXPECT_NE(describe_waits(queues, matches).find(": idle" + match_lines), std::string::npos);
}

TEST_F(MonitorTest, SleepsWithoutLimitUntilThereIsAQueue) {
  Monitor monitor(settings, world, queues, matches);
  EXPECT_EQ(world.patience_of_watch(1), -1);
  monitor.begin_watching();
  EXPECT_EQ(world.patience_of_watch(2), 100);
}

TEST_F(MonitorTest, G9_AWaitOverTheTimeLimitIsPrintedAndReleasedOnce) {
  settings.timeout = milliseconds{20};
  Queue& queue = new_queue();
  Monitor monitor(settings, world, queues, matches);
  monitor.begin_watching();
  queue.blocked_since(waiter);
  const Error error = waiter.await_release();
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_NE(error.text().find("PENSTOCK_TIMEOUT=0.02"), std::string::npos) << error.text();
  EXPECT_NE(error.text().find("neither rank waits for the other"), std::string::npos)
      << error.text();
  const int now = world.patience_of_watch(1);  // milliseconds of a tick
  EXPECT_GT(now, 0);
  EXPECT_LE(now, 100);
  await_log("waits for receive from rank 3 (tag 7)");

  // The same waiter waits again: a new wait with a new limit.
  queue.unblocked(waiter);
  queue.blocked_since(waiter);
  while (waiter.releases() < 2) std::this_thread::yield();
  queue.unblocked(waiter);
}

TEST_F(MonitorTest, ATimeLimitReleasesAWaitOnlyOnce) {
  TimeLimit limit(milliseconds{0}, matches);
  Queue& queue = new_queue();
  queue.blocked_since(waiter);
  for (int look = 0; look < 3; ++look) limit.enforce(queues);
  EXPECT_EQ(waiter.releases(), 1u);
  queue.unblocked(waiter);
  limit.enforce(queues);
  const std::string text = log_text();
  EXPECT_EQ(text.find("what the queues and matches wait for"),
            text.rfind("what the queues and matches wait for"))
      << text;
}

TEST_F(MonitorTest, Sigusr1PrintsTheTableAndIsGivenBack) {
  ASSERT_EQ(disposition(), SIG_DFL);
  {
    Monitor monitor(settings, world, queues, matches);
    EXPECT_EQ(disposition(), SIG_DFL);  // not before there is a queue or a match
    new_queue().blocked_since(waiter);
    match_lines = "\n  match: send to rank 1 waits";
    monitor.begin_watching();
    ASSERT_NE(disposition(), SIG_DFL);
    ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
    await_log("waits for receive from rank 3 (tag 7)");  // although the level is `error`
    await_log(match_lines);
  }
  EXPECT_EQ(disposition(), SIG_DFL);
}

TEST_F(MonitorTest, Sigusr1IsLeftToAProgramThatUsesIt) {
  for (const auto use : {SIG_IGN, static_cast<void (*)(int)>([](int) {})}) {
    std::signal(SIGUSR1, use);
    {
      Monitor monitor(settings, world, queues, matches);
      monitor.begin_watching();
      EXPECT_EQ(disposition(), use);
    }
    EXPECT_EQ(disposition(), use);
  }
  std::signal(SIGUSR1, SIG_DFL);
}

TEST_F(MonitorTest, Sigusr1IsNotTakenFromAProgramThatTookItLater) {
  const auto use = static_cast<void (*)(int)>([](int) {});
  {
    Monitor monitor(settings, world, queues, matches);
    monitor.begin_watching();
    std::signal(SIGUSR1, use);
  }
  EXPECT_EQ(disposition(), use);
  std::signal(SIGUSR1, SIG_DFL);
}

}  // namespace
}  // namespace penstock::core
