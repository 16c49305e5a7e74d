// SPDX-License-Identifier: Apache-2.0
// An operational form of the C++20 memory model, a plain value that can be copied, compared and
// hashed.
//
// Each atomic location keeps the list of its values in modification order, each with the view (what
// its reader comes to know) that its store published. Each thread has a view: per location the
// oldest value it may still read, and per non-atomic cell whether it knows the newest write and
// each thread's newest read. A load may read every value that is not older than the thread's view;
// an acquire load joins the message's view; a release store attaches the thread's own. Exchanges
// read the newest value and continue its release sequence. A seq_cst fence joins the thread's times
// with those of all earlier fences. A seq_cst access takes part in that order for its own location
// only; the order follows execution, so it agrees with happens-before, which C++20 does not ask
// where seq_cst and weaker accesses are mixed. What cannot happen here: load buffering (a load
// never reads from a store that its own later stores cause), which acquire loads and release stores
// exclude on machines too; and stores by two threads to one location without an order between them
// (reported as a fault).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "protocol/port.hpp"

namespace penstock::explorer {

using protocol::Order;

constexpr unsigned max_locations = 24;
constexpr unsigned max_cells = 24;
constexpr unsigned max_threads = 4;
constexpr unsigned max_messages = 6;

using Value = std::uint8_t;

// known[c]: bit 0 the newest write of cell c, bit 1+t thread t's newest read since that write (set
// where there is none).
struct View {
  std::array<std::uint8_t, max_locations> time{};
  std::array<std::uint8_t, max_cells> known{};

  void join(const View& other);
  void join_times(const View& other);
};

struct Message {
  Value value = 0;
  View view;
};

struct Location {
  std::uint8_t count = 1;
  std::array<Message, max_messages> messages{};

  // Only what there is: states are copied at every step, and most locations hold one message.
  Location() = default;
  Location(const Location& other) { *this = other; }
  Location& operator=(const Location& other) {
    count = other.count;
    std::copy_n(other.messages.begin(), count, messages.begin());
    return *this;
  }
};

// What the memory need not tell apart, fixed before a search.
struct Shape {
  unsigned locations = 0;
  unsigned cells = 0;
  unsigned threads = 0;
  bool fences = false;        // fences or seq_cst accesses occur: their order is kept
  bool mixed_fences = false;  // relaxed accesses occur beside fences: what fences publish is kept
  std::array<std::uint8_t, max_locations> readers{};  // bit t: thread t may load the location
  std::array<bool, max_locations> exchange_only{};    // never loaded: only the newest value matters
};

class Memory {
 public:
  explicit Memory(const Shape& shape);
  Memory() = default;

  // Before the threads begin.
  void preset_cell(unsigned cell, Value value) { cells_[cell] = value; }

  unsigned choices(unsigned thread, unsigned location, Order order) const;
  // Choice 0 is the newest value.
  Value load(unsigned thread, unsigned location, Order order, unsigned choice);
  // false: unordered with another store.
  bool store(unsigned thread, unsigned location, Order order, Value value);
  // A store of one of several writers: it follows what has been stored before, and knows nothing of
  // it.
  void overwrite(unsigned thread, unsigned location, Order order, Value value);
  Value exchange(unsigned thread, unsigned location, Order order, Value value);
  // seq_cst; or acquire, with mixed_fences.
  void fence(unsigned thread, Order order = Order::seq_cst);
  bool read_cell(unsigned thread, unsigned cell, Value* value);  // false: data race
  bool write_cell(unsigned thread, unsigned cell, Value value);  // false: data race
  // The thread can only read the newest value.
  bool knows_newest(unsigned thread, unsigned location) const;
  Value newest(unsigned location) const;

  // Drops what no running thread can observe any more, so that equal futures have equal
  // representations.
  void settle(std::uint8_t running);
  void append(std::string& bytes) const;
  const std::uint8_t* restore(const std::uint8_t* bytes);
  bool overflow() const { return overflow_; }

 private:
  Message& push(unsigned location);
  void settle_location(unsigned location, std::uint8_t running);
  void forget(unsigned location, unsigned base);
  void minimise(unsigned location, std::uint8_t running);
  template <class Visit>
  void each_view(Visit visit);

  const Shape* shape_ = nullptr;
  bool overflow_ = false;
  std::array<Location, max_locations> locations_{};
  std::array<Value, max_cells> cells_{};
  std::array<View, max_threads> current_{};
  // The current view and what relaxed loads saw: an acquire fence would join it.
  std::array<View, max_threads> acquired_{};
  // The view at the last release fence: relaxed stores publish it.
  std::array<View, max_threads> released_{};
  View fenced_{};  // times only: what the order of seq_cst operations has seen
};

}  // namespace penstock::explorer
