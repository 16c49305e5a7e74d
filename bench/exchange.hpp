// SPDX-License-Identifier: Apache-2.0
// The same trips by several libraries, on several devices.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "memory.hpp"
#include "support/clock.hpp"
#include "traffic.hpp"

namespace penstock::bench {

// A message of a trip, in this rank's memory.
struct Message {
  Traffic::Part part;
  bool sends;
  std::span<std::byte> bytes;  // where it lies, gaps included
};

// What calls of one kind cost the caller.
struct CallCost {
  std::string call;
  double us = 0;
  int calls = 0;
};

class Exchange {
 public:
  Exchange(const Traffic& traffic, const MemorySource& source);
  virtual ~Exchange() = default;

  // Starts what must have been started before any rank makes its first trip.
  virtual void begin() {}
  // Enqueues, or makes, the trips from `from` to `to` of a chain, or of a graph, of `total`.
  virtual void make_trips(int from, int to, int total) = 0;
  virtual bool on_stream() const { return true; }  // else the host waits for the messages
  virtual std::string transport() const { return {}; }
  virtual std::string algorithm() const { return {}; }  // of a collective

  // What comes before the sends and after the receives; none by default.
  std::function<void()> before_send, after_receive;

  const Traffic& traffic() const { return traffic_; }
  // Those that are sent come first. They lie one behind the other.
  std::span<const Message> messages() const { return messages_; }
  std::span<const Message> sent() const { return messages().first(traffic_.sends.size()); }
  std::span<const Message> received() const { return messages().last(traffic_.receives.size()); }

  // While set, calls are timed.
  void time_calls(bool timing) { timing_ = timing; }
  const std::vector<CallCost>& costs() const { return costs_; }

 protected:
  void prepare() {
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
  const Memory& outgoing() const { return outgoing_; }
  const Memory& incoming() const { return incoming_; }

 private:
  void add_cost(const char* name, double us);

  const Traffic traffic_;
  const Memory outgoing_;
  const Memory incoming_;
  std::vector<Message> messages_;
  bool timing_ = false;
  std::vector<CallCost> costs_;
};

// The program of every benchmark, written once and compiled for each library: no call through a
// pointer stands between the messages. A library has move(sends, receives), which sends, receives
// or does both, whole; and may have a trip of its own.
template <class Library>
class LibraryExchange : public Exchange {
 public:
  using Exchange::Exchange;

  void make_trips(int from, int to, int total) final {
    for (int i = from; i < to; ++i) library().trip(i == 0, i + 1 == total);
  }

  // `first` and `last` are the ends of the chain.
  void trip(bool /*first*/, bool /*last*/) {
    if (traffic().shape == Traffic::Shape::at_once) {
      prepare();
      library().move(true, true);
      use();
    } else if (traffic().leads) {
      prepare();
      library().move(true, false);
      library().move(false, true);
      use();
    } else {
      library().move(false, true);
      use();
      prepare();
      library().move(true, false);
    }
  }

 private:
  Library& library() { return static_cast<Library&>(*this); }
};

}  // namespace penstock::bench
