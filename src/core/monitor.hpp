// SPDX-License-Identifier: Apache-2.0
// One thread that notices what no other thread waits for: dead processes (at once), waits that last
// longer than PENSTOCK_TIMEOUT, SIGUSR1. It never calls MPI, and sleeps while there is nothing to
// watch.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "base/settings.hpp"
#include "core/waits.hpp"
#include "group/world.hpp"

namespace penstock::core {

class Queues;
class TableSignal;

class Monitor {
 public:
  // `matches` is called after begin_watching() alone.
  Monitor(const base::Settings& settings, group::World& world, Queues& queues,
          DescribeMatches matches);
  ~Monitor();
  // From the first queue or match on SIGUSR1 prints the table (if the program has left it alone),
  // and time-outs are watched.
  void begin_watching();

 private:
  int watch_milliseconds() const noexcept;
  void run() noexcept;
  void check_waits();

  group::World& world_;
  Queues& queues_;
  const DescribeMatches matches_;
  const std::chrono::milliseconds timeout_;
  TimeLimit limit_;
  const std::unique_ptr<TableSignal> signal_;
  std::atomic<bool> begun_{false};
  std::atomic<bool> ticking_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace penstock::core
