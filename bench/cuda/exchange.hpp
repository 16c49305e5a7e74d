// SPDX-License-Identifier: Apache-2.0
// The same rounds by several libraries.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device_memory.hpp"
#include "support/clock.hpp"
#include "traffic.hpp"

namespace penstock::bench {

struct Message {
  int peer;
  std::span<std::byte> bytes;
};

// What calls of one kind cost the caller.
struct CallCost {
  std::string call;
  double us = 0;
  int calls = 0;
};

class Exchange {
 public:
  explicit Exchange(const Traffic& traffic);
  virtual ~Exchange() = default;

  // Enqueues one round, or makes it. `first` and `last` are the ends of a chain or of a graph.
  virtual void round(bool first, bool last);
  virtual bool on_stream() const { return true; }
  virtual std::string transport() const { return {}; }

  // What comes before the sends and after the receives; none by default.
  std::function<void()> before_send, after_receive;

  const std::vector<Message>& sent() const { return sent_; }
  const std::vector<Message>& received() const { return received_; }
  // Messages lie one behind the other.
  const DeviceMemory& outgoing() const { return outgoing_; }
  const DeviceMemory& incoming() const { return incoming_; }

  // While set, calls are timed.
  void time_calls(bool timing) { timing_ = timing; }
  const std::vector<CallCost>& costs() const { return costs_; }

 protected:
  // With memory of `bytes` each that the library has given.
  Exchange(const Traffic& traffic, DeviceMemory outgoing, DeviceMemory incoming);
  static std::size_t room_for(const std::vector<Traffic::Part>& parts);

  // Sends, receives or both, whole.
  virtual void move(bool sends, bool receives) = 0;
  virtual void prepare() {
    if (before_send) before_send();
  }
  void use() {
    if (after_receive) after_receive();
  }
  template <class Call>
  void timed(const char* name, Call&& call) {
    if (!timing_) return call();
    const double begin = tool::now_us();
    call();
    add_cost(name, tool::now_us() - begin);
  }

  const Traffic traffic_;

 private:
  void add_cost(const char* name, double us);

  DeviceMemory outgoing_;
  DeviceMemory incoming_;
  std::vector<Message> sent_;
  std::vector<Message> received_;
  bool timing_ = false;
  std::vector<CallCost> costs_;
};

std::unique_ptr<Exchange> make_penstock_exchange(const Traffic& traffic, const Options& options);
// Null, with the reason, where there is no such library, or none that can do this.
std::unique_ptr<Exchange> make_nccl_exchange(const Traffic& traffic, std::string& why_not);
std::unique_ptr<Exchange> make_mpi_exchange(const Traffic& traffic, std::string& why_not);
// `adds`: signals are added to, not set.
std::unique_ptr<Exchange> make_nvshmem_exchange(const Traffic& traffic, bool adds,
                                                std::string& why_not);
// When no exchange is left. All ranks call it.
void close_nvshmem();

}  // namespace penstock::bench
