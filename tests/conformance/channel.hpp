// SPDX-License-Identifier: Apache-2.0
// A channel from the even rank of each pair to the odd one, with what its streams fill and check:
// every element of every message, and poison where the program has given its range away.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {

using Element = std::uint64_t;
inline constexpr Element poison = 0xdeaddeaddeaddeadu;

// Whether units are words, and not cells.
inline bool channels_have_words() {
  const char* const words = std::getenv("PENSTOCK_CHANNEL_WORDS");
  return transport_allowed("peer") && (words == nullptr || std::string(words) != "0");
}

// One end's elements, and what its program has done with each so far.
class ChannelMemory {
 public:
  ChannelMemory(std::size_t count, std::uint64_t key, Memory memory)
      : memory_(memory),
        elements_(
            reinterpret_cast<Element*>(allocate(memory, count * sizeof(Element), std::byte{0xde}))),
        epochs_(count, 0),
        key_(key) {}
  ~ChannelMemory() { test::free(memory_, reinterpret_cast<std::byte*>(elements_)); }
  ChannelMemory(const ChannelMemory&) = delete;
  ChannelMemory& operator=(const ChannelMemory&) = delete;

  Element* data() { return elements_; }
  // Enqueue the program's own work on a range. The n-th time that a range is filled, or checked, it
  // has the n-th message.
  void fill(Lane& lane, std::size_t offset, std::size_t count) {
    launch(lane, &run_fill, offset, count);
  }
  void scribble(Lane& lane, std::size_t offset, std::size_t count) {
    launch(lane, &run_scribble, offset, count);
  }
  void check(Lane& lane, std::size_t offset, std::size_t count) {
    launch(lane, &run_check, offset, count);
  }
  std::uint64_t wrong() const { return wrong_; }
  std::uint64_t checked() const { return checked_; }

 private:
  struct Work {
    ChannelMemory* memory;
    std::size_t offset, count;
  };

  Element value(std::size_t at) const { return key_ + epochs_[at] * 1000003 + at; }
  void launch(Lane& lane, void (*function)(void*), std::size_t offset, std::size_t count) {
    lane.launch(function, new Work{this, offset, count});
  }
  template <class Body>
  static void for_each(void* argument, Body body) {
    const std::unique_ptr<Work> work(static_cast<Work*>(argument));
    for (std::size_t at = work->offset; at < work->offset + work->count; ++at)
      body(*work->memory, at);
  }
  static void run_fill(void* work) {
    for_each(work, [](ChannelMemory& memory, std::size_t at) {
      ++memory.epochs_[at];
      memory.elements_[at] = memory.value(at);
    });
  }
  static void run_scribble(void* work) {
    for_each(work, [](ChannelMemory& memory, std::size_t at) { memory.elements_[at] = poison; });
  }
  static void run_check(void* work) {
    for_each(work, [](ChannelMemory& memory, std::size_t at) {
      ++memory.epochs_[at];
      ++memory.checked_;
      if (memory.elements_[at] != memory.value(at)) ++memory.wrong_;
    });
  }

  const Memory memory_;
  Element* const elements_;
  std::vector<std::uint64_t> epochs_;  // of each element
  std::uint64_t key_;
  std::atomic<std::uint64_t> wrong_{0}, checked_{0};
};

// A rank that is its own partner has both ends, each on a lane of its own.
class TestChannel {
 public:
  TestChannel(std::size_t count, std::size_t unit, int tag = 0, Memory memory = Memory::ordinary)
      : TestChannel(
            count, tag, memory,
            [=](Element* buffer, MPI_Request* made) {
              return PST_Channel_send_init(buffer, at(count), MPI_UINT64_T, at(unit), partner(),
                                           tag, MPI_COMM_WORLD, MPI_INFO_NULL, made);
            },
            [=](Element* buffer, MPI_Request* made) {
              return PST_Channel_recv_init(buffer, at(count), MPI_UINT64_T, at(unit), partner(),
                                           tag, MPI_COMM_WORLD, MPI_INFO_NULL, made);
            }) {}
  // Of ends that these make over the channel's memory.
  template <class MakeSend, class MakeReceive>
  TestChannel(std::size_t count, int tag, Memory memory, MakeSend make_send,
              MakeReceive make_receive) {
    const int self = rank(), peer = partner();
    if (self % 2 == 0) {
      source_.emplace(count, key(self, peer, tag), memory);
      EXPECT_PST(make_send(source_->data(), &sender_));
    }
    if (self % 2 == 1 || peer == self) {
      target_.emplace(count, key(peer, self, tag), memory);
      EXPECT_PST(make_receive(target_->data(), &receiver_));
    }
    std::vector<MPI_Request> ends;
    for (const MPI_Request end : {sender_, receiver_})
      if (end != MPI_REQUEST_NULL) ends.push_back(end);
    EXPECT_PST(PST_Matchall(static_cast<int>(ends.size()), ends.data(), MPI_STATUSES_IGNORE));
  }
  ~TestChannel() { free(); }
  TestChannel(const TestChannel&) = delete;
  TestChannel& operator=(const TestChannel&) = delete;

  void free() {
    if (sender_ != MPI_REQUEST_NULL) EXPECT_PST(PST_Request_free(&sender_));
    if (receiver_ != MPI_REQUEST_NULL) EXPECT_PST(PST_Request_free(&receiver_));
  }

  bool sends() const { return source_.has_value(); }
  bool receives() const { return target_.has_value(); }
  MPI_Request sender() const { return sender_; }
  MPI_Request receiver() const { return receiver_; }

  // Where the rank has that end, also with what its program does to the range.
  void put(Lane& lane, std::size_t offset, std::size_t count) {
    if (!sends()) return;
    source_->fill(lane, offset, count);
    EXPECT_PST(PST_Channel_put(lane.queue(), sender_, at(offset), at(count)));
  }
  // The same, by what `pready` calls.
  template <class Pready>
  void put_by(Lane& lane, std::size_t offset, std::size_t count, Pready pready) {
    if (!sends()) return;
    source_->fill(lane, offset, count);
    EXPECT_PST(pready(lane.queue(), sender_));
  }
  void put_wait(Lane& lane, std::size_t offset, std::size_t count) {
    if (!sends()) return;
    EXPECT_PST(PST_Channel_put_wait(lane.queue(), sender_, at(offset), at(count)));
    source_->scribble(lane, offset, count);
  }
  void wait(Lane& lane, std::size_t offset, std::size_t count) {
    if (!receives()) return;
    EXPECT_PST(PST_Channel_wait(lane.queue(), receiver_, at(offset), at(count)));
    target_->check(lane, offset, count);
  }
  void release(Lane& lane, std::size_t offset, std::size_t count) {
    if (!receives()) return;
    target_->scribble(lane, offset, count);
    EXPECT_PST(PST_Channel_release(lane.queue(), receiver_, at(offset), at(count)));
  }
  int test(std::size_t offset, std::size_t count) const {
    int flag = -1;
    EXPECT_PST(PST_Channel_test(receiver_, at(offset), at(count), &flag));
    return flag;
  }
  void expect_test(std::size_t offset, std::size_t count, int flag) const {
    if (receives()) {
      EXPECT_EQ(test(offset, count), flag);
    }
  }
  void expect_good(std::uint64_t elements) const {
    if (!receives()) return;
    EXPECT_EQ(target_->wrong(), 0u);
    EXPECT_EQ(target_->checked(), elements);
  }

 private:
  static MPI_Count at(std::size_t number) { return static_cast<MPI_Count>(number); }
  static std::uint64_t key(int from, int to, int tag) { return sequence_key(from, to, tag); }

  std::optional<ChannelMemory> source_, target_;
  MPI_Request sender_ = MPI_REQUEST_NULL, receiver_ = MPI_REQUEST_NULL;
};

}  // namespace penstock::test
