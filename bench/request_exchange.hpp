// SPDX-License-Identifier: Apache-2.0
// Trips by requests: Penstock on a stream of either device, and MPI, persistent or not.
#pragma once

#include <penstock/penstock.hpp>
#include <utility>
#include <vector>

#include "exchange.hpp"

namespace penstock::bench {

// Which messages of an exchange a call is for.
struct Range {
  std::size_t first;
  std::size_t count;
};

// Persistent requests that the host starts and waits for.
class MpiCalls {
 public:
  static constexpr bool on_stream = false;
  MpiCalls(std::span<const Message> messages, int tag);
  void start(Range range) {
    const std::span<MPI_Request> some = part(range);
    if (some.size() == 1)
      MPI_Start(some.data());
    else
      MPI_Startall(static_cast<int>(some.size()), some.data());
  }
  void wait(Range range) { wait_for(part(range)); }
  void run(Range range) {
    start(range);
    wait(range);
  }
  std::string transport() const { return {}; }

 protected:
  static void wait_for(std::span<MPI_Request> some) {
    if (some.size() == 1)
      MPI_Wait(some.data(), MPI_STATUS_IGNORE);
    else
      MPI_Waitall(static_cast<int>(some.size()), some.data(), MPI_STATUSES_IGNORE);
  }
  std::span<MPI_Request> part(Range range) {
    return requests_.all().subspan(range.first, range.count);
  }

  Requests requests_;
};

// The same requests, matched, on a queue.
class QueueCalls : public MpiCalls {
 public:
  static constexpr bool on_stream = true;
  QueueCalls(std::span<const Message> messages, int tag, QueueView queue);
  void start(Range range) { queue_.start(part(range)); }
  void wait(Range range) { queue_.wait(part(range)); }
  void run(Range range) { queue_.run(part(range)); }
  std::string transport() const { return requests_[0].transport(); }

 private:
  QueueView queue_;
};

// Whose calls: those that Penstock sees, or MPI's own by their PMPI_ names.
enum class CallsOf { program, mpi };

// MPI_Isend (or its kin) and MPI_Irecv, made anew each time.
class NonblockingCalls : public MpiCalls {
 public:
  NonblockingCalls(std::span<const Message> messages, int tag, CallsOf calls = CallsOf::program);
  void start(Range range);
  void wait(Range range);
  void run(Range range) {
    start(range);
    wait(range);
  }
  void test();  // of all of them: it gives MPI time

 private:
  const CallsOf calls_;
  const std::span<const Message> messages_;
  const int tag_;
  const std::size_t sends_;
  const decltype(&MPI_Isend) send_;
  const decltype(&MPI_Irecv) receive_;
  std::vector<MPI_Request> open_;
};

// Penstock's enqueued messages, made anew each time, one trigger for all. MPI matches them, unless
// they are on a promised communicator.
class EnqueuedCalls {
 public:
  static constexpr bool on_stream = true;
  EnqueuedCalls(std::span<const Message> messages, int tag, QueueView queue, MPI_Comm comm)
      : messages_(messages), tag_(tag), queue_(queue), comm_(comm) {}
  void start(Range range);
  void wait(Range) { queue_.wait_outstanding(); }
  void run(Range range) {
    start(range);
    queue_.wait_outstanding();
  }
  std::string transport() const { return {}; }

 private:
  const std::span<const Message> messages_;
  const int tag_;
  const QueueView queue_;
  const MPI_Comm comm_;
};

bool can_enqueue(std::string& why_not);

// How early a receive is started: right before its wait; ahead of it, by a call of its own; in one
// call with the send before it, and waited for with it; or so, where one call is both.
enum class Ahead { no, apart, together, run };

template <class Calls>
class RequestExchange final : public LibraryExchange<RequestExchange<Calls>> {
  using Base = LibraryExchange<RequestExchange<Calls>>;

 public:
  // What is started and waited for together, and what the costs of these calls are called.
  struct Group {
    Range range;
    const char* start;
    const char* wait;
    const char* run;
  };

  // `more`: what the calls need beside the messages and the first tag.
  template <class... More>
  RequestExchange(const Traffic& traffic, const MemorySource& source, Ahead ahead, int tag,
                  More&&... more)
      : Base(traffic, source),
        sends{{0, traffic.sends.size()}, "start send", "wait send", "run send"},
        receives{{traffic.sends.size(), traffic.receives.size()},
                 "start receive",
                 "wait receive",
                 "run receive"},
        both{{0, traffic.sends.size() + traffic.receives.size()},
             "start all",
             "wait all",
             "run all"},
        ahead_(traffic.shape == Traffic::Shape::at_once && ahead != Ahead::run ? Ahead::no : ahead),
        calls_(this->messages(), tag, std::forward<More>(more)...) {}

  const Group sends;
  const Group receives;
  const Group both;
  void start(const Group& group) {
    this->timed(group.start, [&] { calls_.start(group.range); });
  }
  void wait(const Group& group) {
    this->timed(group.wait, [&] { calls_.wait(group.range); });
  }

  bool on_stream() const override { return Calls::on_stream; }
  std::string transport() const override { return calls_.transport(); }
  void begin() override {
    if (ahead_ == Ahead::apart && !this->traffic().leads) start(receives);
  }
  void trip(bool first, bool last) {
    if (ahead_ == Ahead::no || this->traffic().shape == Traffic::Shape::at_once)
      Base::trip(first, last);
    else if (ahead_ == Ahead::run)
      trip_by_runs(first, last);
    else if (ahead_ == Ahead::apart)
      trip_apart(last);
    else
      trip_together(first, last);
  }
  void move(bool sending, bool receiving) {
    run(sending && receiving ? both : sending ? sends : receives);
  }

 private:
  void run(const Group& group) {
    if (ahead_ == Ahead::run) return this->timed(group.run, [&] { calls_.run(group.range); });
    start(group);
    wait(group);
  }

  // A receive is started before the message that lets the peer send.
  void trip_apart(bool last) {
    if (!this->traffic().leads) {
      wait(receives);
      this->use();
      if (!last) start(receives);
      this->prepare();
      return run(sends);
    }
    const bool answered_with_as_much = this->traffic().shape == Traffic::Shape::ping_pong;
    if (answered_with_as_much) start(receives);
    this->prepare();
    run(sends);
    if (!answered_with_as_much) start(receives);
    wait(receives);
    this->use();
  }

  // One start and one wait a trip.
  void trip_together(bool first, bool last) {
    if (this->traffic().leads) {
      this->prepare();
      run(both);
      return this->use();
    }
    if (first) start(receives);
    wait(first ? receives : both);
    this->use();
    this->prepare();
    if (last) return run(sends);
    start(both);
  }

  // One call a trip. Who answers sends with the receive of the next trip.
  void trip_by_runs(bool first, bool last) {
    if (this->traffic().leads) {
      this->prepare();
      run(both);
      return this->use();
    }
    if (first) run(receives);
    this->use();
    this->prepare();
    run(last ? sends : both);
  }

  const Ahead ahead_;
  Calls calls_;
};

}  // namespace penstock::bench
