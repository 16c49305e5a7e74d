// SPDX-License-Identifier: Apache-2.0
// The program of bench channel, written once and compiled for each library, which has the four
// verbs of a channel:
//   put(thread, units), put_wait(thread, units)   the sender's
//   wait(thread, units), release(thread, units)   the receiver's
// On streams a thread's trips are enqueued while the stream stands at a gate, and are timed by the
// stream; else its thread makes them.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "channel_side.hpp"
#include "support/clock.hpp"
#include "support/stream_clock.hpp"

namespace penstock::bench {

// When a thread's trips began and ended, and its releases.
struct ThreadStamps {
  tool::Stamp begin, end;
  std::deque<std::pair<tool::Stamp, tool::Stamp>> releases{};
};

// The work of every thread, on threads of their own where there are several. Rethrows.
template <class Body>
void on_threads(std::size_t threads, Body&& body) {
  if (threads == 1) return body(std::size_t{0});
  std::vector<std::exception_ptr> failures(threads);
  std::vector<std::thread> all;
  for (std::size_t thread = 0; thread < threads; ++thread)
    all.emplace_back([&, thread] {
      try {
        body(thread);
      } catch (...) {
        failures[thread] = std::current_exception();
      }
    });
  for (std::thread& each : all) each.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

template <class Library>
class ChannelTrips : public ChannelSide {
 public:
  using ChannelSide::ChannelSide;

 protected:
  // `stamp(thread, stamp)` has the stamp taken when the thread's program gets there.
  template <class StampAt>
  void make_trips(std::size_t thread, int trips, bool releases, ThreadStamps& stamps,
                  StampAt&& stamp) {
    trip(thread, [](auto&& release) { release(); });
    stamp(thread, stamps.begin);
    for (int i = 0; i < trips; ++i)
      trip(thread, [&](auto&& release) {
        if (!releases) return release();
        auto& [before, after] = stamps.releases.emplace_back();
        stamp(thread, before);
        release();
        stamp(thread, after);
      });
    stamp(thread, stamps.end);
  }

  static TripTimes times_of(const std::deque<ThreadStamps>& threads, int trips) {
    double begin = threads.front().begin.us(), end = threads.front().end.us(), releases = 0;
    for (const ThreadStamps& each : threads) {
      begin = std::min(begin, each.begin.us());
      end = std::max(end, each.end.us());
      for (const auto& [before, after] : each.releases) releases += after.us() - before.us();
    }
    return {(end - begin) / (2.0 * trips), releases / trips / static_cast<double>(threads.size())};
  }

 private:
  Library& library() { return static_cast<Library&>(*this); }

  template <class Timed>
  void trip(std::size_t thread, Timed&& timed) {
    if (rank() == 0) put_all(thread);
    take_all(thread, timed);
    if (rank() != 0) put_all(thread);
  }
  void put_all(std::size_t thread) {
    for (std::size_t call = 0; call < traffic().puts; ++call)
      library().put(thread, call_of(thread, call, traffic().puts));
    library().put_wait(thread, units_of(thread));
  }
  template <class Timed>
  void take_all(std::size_t thread, Timed& timed) {
    for (std::size_t call = 0; call < traffic().takes; ++call) {
      const UnitRange units = call_of(thread, call, traffic().takes);
      library().wait(thread, units);
      timed([&] { library().release(thread, units); });
    }
  }
};

// With a stream and a queue for each thread.
template <class Library>
class StreamTrips : public ChannelTrips<Library> {
  using Base = ChannelTrips<Library>;

 public:
  StreamTrips(std::string name, const UnitTraffic& traffic, int rank)
      : Base(std::move(name), traffic, rank), streams_(traffic.threads) {
    for (const Stream& stream : streams_) queues_.emplace_back(stream);
  }

  TripTimes run_round(int trips, bool releases) override {
    const std::size_t threads = this->traffic().threads;
    std::deque<tool::Gate> gates(threads);
    std::deque<ThreadStamps> stamps(threads);
    on_threads(threads, [&](std::size_t thread) {
      gates[thread].enqueue(streams_[thread]);
      this->make_trips(thread, trips, releases, stamps[thread],
                       [&](std::size_t on, tool::Stamp& stamp) { stamp.enqueue(streams_[on]); });
    });
    MPI_Barrier(MPI_COMM_WORLD);
    for (tool::Gate& gate : gates) gate.open();
    // Not the queues, which would wait for the receives that a last release has started.
    for (const Stream& stream : streams_) stream.synchronize();
    return this->times_of(stamps, trips);
  }

 protected:
  QueueView queue(std::size_t thread) const { return queues_[thread]; }

 private:
  std::vector<Stream> streams_;
  std::vector<Queue> queues_;
};

// Whose calls wait on the host.
template <class Library>
class HostTrips : public ChannelTrips<Library> {
 public:
  using ChannelTrips<Library>::ChannelTrips;

  TripTimes run_round(int trips, bool releases) override {
    const std::size_t threads = this->traffic().threads;
    std::deque<ThreadStamps> stamps(threads);
    MPI_Barrier(MPI_COMM_WORLD);
    on_threads(threads, [&](std::size_t thread) {
      this->make_trips(thread, trips, releases, stamps[thread],
                       [](std::size_t, tool::Stamp& stamp) { stamp.take(); });
    });
    return this->times_of(stamps, trips);
  }
};

}  // namespace penstock::bench
