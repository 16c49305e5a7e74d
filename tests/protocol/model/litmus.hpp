// SPDX-License-Identifier: Apache-2.0
// Runs small multi-threaded programs over the memory model in every interleaving and with every
// value a load may read, and collects the outcomes. Used to check the model itself against what C++
// says about the well-known litmus tests.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "protocol/model/memory.hpp"

namespace penstock::explorer {

// One thread's hands on the memory. Its body is executed again from the start for each access, with
// the values read so far.
class LitmusThread {
 public:
  LitmusThread(Memory& memory, unsigned thread, std::vector<Value>& log, unsigned choice)
      : memory_(memory), thread_(thread), log_(log), choice_(choice) {}

  Value load(unsigned location, Order order);
  void store(unsigned location, Order order, Value value);
  // Unordered with the stores of others.
  void overwrite(unsigned location, Order order, Value value);
  Value exchange(unsigned location, Order order, Value value);
  void fence(Order order = Order::seq_cst);
  Value read(unsigned cell);
  void write(unsigned cell, Value value);

  bool stopped() const { return stopped_; }
  bool raced() const { return raced_; }
  unsigned choices() const { return choices_; }

 private:
  template <class Access>
  Value step(Access access);

  Memory& memory_;
  unsigned thread_;
  std::vector<Value>& log_;
  unsigned choice_;
  unsigned position_ = 0;
  unsigned choices_ = 1;
  bool performed_ = false;
  bool stopped_ = false;
  bool raced_ = false;
};

using LitmusBody = std::function<void(LitmusThread&, std::vector<int>& registers)>;
using Outcomes = std::set<std::vector<int>>;

// `registers` are the outcome; {-1} stands for a data race.
Outcomes run_litmus(const Shape& shape, unsigned registers, const std::vector<LitmusBody>& threads);

}  // namespace penstock::explorer
