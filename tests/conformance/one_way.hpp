// SPDX-License-Identifier: Apache-2.0
// One sequence of messages from the even rank of each pair to the odd one. A rank that is its own
// partner has both ends, each on a stream of its own; so a test says `if (pair.sends())`, then `if
// (pair.receives())`, with meet() between what must be ordered.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"

namespace penstock::test {

class OneWay {
 public:
  struct Options {
    std::size_t bytes = 8;
    Kind kind = Kind::standard;
    Memory memory = Memory::ordinary;
    int tag = 0;
    std::size_t extra = 0;
  };

  explicit OneWay(const Options& options) {
    const int self = rank(), peer = partner();
    const auto key = [&](int from, int to) { return sequence_key(from, to, options.tag); };
    std::vector<MPI_Request*> requests;
    if (self % 2 == 0) {
      sender_.emplace(options.bytes, options.memory, key(self, peer));
      sender_->init(options.kind, peer, options.tag);
      requests.push_back(&sender_->request());
    }
    if (self % 2 == 1 || peer == self) {
      receiver_.emplace(options.bytes, options.memory, key(peer, self), 0, options.extra);
      receiver_->init(peer, options.tag);
      requests.push_back(&receiver_->request());
    }
    match_all(requests);
  }

  bool sends() const { return sender_.has_value(); }
  bool receives() const { return receiver_.has_value(); }
  Sender& sender() { return *sender_; }
  Receiver& receiver() { return *receiver_; }
  Lane& send_lane() { return send_lane_; }
  Lane& receive_lane() { return receive_lane_; }

  void start_send() {
    if (sends()) sender_->enqueue_start(send_lane_);
  }
  void wait_send() {
    if (sends()) sender_->enqueue_wait(send_lane_);
  }
  void start_receive() {
    if (receives()) receiver_->enqueue_start(receive_lane_);
  }
  void wait_receive() {
    if (receives()) receiver_->enqueue_wait(receive_lane_);
  }
  // Returns once the stream has run what is enqueued on it; adds no wait for the requests.
  void synchronize_send() { send_lane_.synchronize(); }
  void synchronize_receive() { receive_lane_.synchronize(); }
  void finish_send() { send_lane_.finish(); }
  void finish_receive() { receive_lane_.finish(); }
  void expect_good(std::uint64_t epochs) {
    if (receives()) receiver_->expect_good(epochs);
  }
  bool on_peer_transport() {
    return transport_of(sends() ? sender_->request() : receiver_->request()).rfind("peer", 0) == 0;
  }

 private:
  // Destroyed last: the lanes complete everything first.
  std::optional<Sender> sender_;
  std::optional<Receiver> receiver_;
  Lane send_lane_, receive_lane_;
};

inline std::string text(const OneWay::Options& options) {
  return std::string(name(options.kind)) + ", " + std::to_string(options.bytes) + " B, " +
         name(options.memory);
}

// Calls body(options) for each of the sizes and kinds, with the two kinds of memory in turn.
template <typename Body>
void for_each_pair(const std::vector<std::size_t>& sizes, const std::vector<Kind>& kinds,
                   Body body) {
  int turn = 0;
  for (const Kind kind : kinds) {
    if (!served(kind)) continue;
    for (const std::size_t bytes : sizes) {
      OneWay::Options options{.bytes = bytes, .kind = kind};
      options.memory = turn++ % 2 == 0 ? Memory::ordinary : Memory::allocated;
      SCOPED_TRACE(text(options));
      body(options);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// A function on the stream that raises a count.
struct Counter {
  std::atomic<int> count = 0;
  static void raise(void* counter) { static_cast<Counter*>(counter)->count.fetch_add(1); }
};

}  // namespace penstock::test
