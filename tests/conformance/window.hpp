// SPDX-License-Identifier: Apache-2.0
// A window of 64-bit numbers as the tests use it, with epochs whose buffers streams fill and check.
// Numbers lie in the device's memory, and in a mirror of the host's, which are the same where the
// device is the host.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {

using Number = std::uint64_t;
using Ranks = std::vector<int>;

inline constexpr auto not_served = "no allowed transport serves windows";
inline bool windows_served() {
  const bool of_the_host = transport_allowed("ofi") || transport_allowed("proxy");
  return transport_allowed("peer") || (of_the_host && queue_type == PST_QUEUE_HOST);
}

// Whether a rank loads and stores such memory of another one.
inline bool reaches(Memory memory) {
  const char* const cross_memory = std::getenv("PENSTOCK_CMA");
  return memory == Memory::allocated || cross_memory == nullptr || std::string(cross_memory) != "0";
}
// Whether small epochs go without a post.
inline bool goes_ahead() {
  if (!transport_allowed("peer") && !transport_allowed("proxy")) return false;
  const char* const eager = std::getenv("PENSTOCK_RMA_EAGER");
  return eager == nullptr || std::string(eager) != "0";
}

class Group {
 public:
  explicit Group(const Ranks& ranks) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group_);
    MPI_Group_free(&world);
  }
  ~Group() {
    if (group_ != MPI_GROUP_EMPTY) MPI_Group_free(&group_);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  operator MPI_Group() const { return group_; }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

// Numbers of a stream, all 0 at first. Elements are those of the mirror; send() and fetch() copy
// all of them in the order of the stream.
class Numbers {
 public:
  explicit Numbers(std::size_t count, Memory memory = Memory::ordinary)
      : memory_(memory),
        count_(count),
        data_(allocate(memory, bytes(), std::byte{0})),
        mirror_(make_mirror(data_, bytes())) {}
  ~Numbers() {
    free_mirror(mirror_, data_);
    free(memory_, data_);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  Number* data() const { return reinterpret_cast<Number*>(data_); }
  std::span<Number> mirror() const { return {reinterpret_cast<Number*>(mirror_), count_}; }
  Number& operator[](std::size_t i) const { return mirror()[i]; }
  std::size_t size() const { return count_; }
  void fill(Number value) const { std::fill_n(mirror().begin(), count_, value); }
  void send(Lane& lane) const { send(lane, 0, count_); }
  void fetch(Lane& lane) const { fetch(lane, 0, count_); }
  void send(Lane& lane, std::size_t first, std::size_t count) const {
    const std::size_t at = first * sizeof(Number);
    enqueue_copy(lane.stream(), data_ + at, mirror_ + at, count * sizeof(Number));
  }
  void fetch(Lane& lane, std::size_t first, std::size_t count) const {
    const std::size_t at = first * sizeof(Number);
    enqueue_copy(lane.stream(), mirror_ + at, data_ + at, count * sizeof(Number));
  }
  // With no stream at work on them.
  void send() const { copy(data_, mirror_); }
  void fetch() const { copy(mirror_, data_); }

 private:
  std::size_t bytes() const { return count_ * sizeof(Number); }
  void copy(std::byte* to, const std::byte* from) const {
    if (to != from) copy_bytes(to, from, bytes());
  }

  Memory memory_;
  std::size_t count_;
  std::byte* data_;
  std::byte* mirror_;
};

// What of the device's memory windows can be over. The library allocates the host's alone.
inline const std::vector<Memory>& window_memories() {
  static const std::vector<Memory> kinds = queue_type == PST_QUEUE_HOST
                                               ? std::vector{Memory::allocated, Memory::ordinary}
                                               : std::vector{Memory::ordinary};
  return kinds;
}

class Window {
 public:
  // Of so many numbers on each rank.
  explicit Window(std::size_t numbers, Memory memory = window_memories().front()) {
    const auto bytes = static_cast<MPI_Aint>(numbers * sizeof(Number));
    if (memory == Memory::allocated) {
      EXPECT_PST(
          PST_Win_allocate(bytes, sizeof(Number), MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &win_));
      std::fill_n(base_, numbers, Number{0});
      allocated_ = {base_, numbers};
    } else {
      own_ = std::make_unique<Numbers>(numbers, memory);
      EXPECT_PST(PST_Win_create(own_->data(), bytes, sizeof(Number), MPI_INFO_NULL, MPI_COMM_WORLD,
                                &win_));
    }
    meet();
  }
  ~Window() {
    if (win_ == MPI_WIN_NULL) return;
    EXPECT_EQ(MPI_Win_free(&win_), MPI_SUCCESS);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  MPI_Win win() const { return win_; }
  MPI_Win& handle() { return win_; }
  const Number* base() const { return own_ ? own_->data() : base_; }  // the device's
  // The mirror's.
  std::span<Number> numbers() const { return own_ ? own_->mirror() : allocated_; }
  void send(Lane& lane) const {
    if (own_) own_->send(lane);
  }
  void fetch(Lane& lane) const {
    if (own_) own_->fetch(lane);
  }
  std::span<Number> fetched() const {
    if (own_) own_->fetch();
    return numbers();
  }

  void post(Lane& lane, const Ranks& origins, int assertion = 0) {
    EXPECT_PST(PST_Win_post_stream(Group(origins), assertion, win_, lane.queue()));
  }
  void start(const Ranks& targets, int assertion = 0) {
    EXPECT_PST(MPI_Win_start(Group(targets), assertion | PST_MODE_STREAM, win_));
  }
  void put(const Number* from, std::size_t count, int target, std::size_t at) {
    EXPECT_PST(MPI_Put(from, static_cast<int>(count), MPI_UINT64_T, target,
                       static_cast<MPI_Aint>(at), static_cast<int>(count), MPI_UINT64_T, win_));
  }
  void get(Number* to, std::size_t count, int target, std::size_t at) {
    EXPECT_PST(MPI_Get(to, static_cast<int>(count), MPI_UINT64_T, target, static_cast<MPI_Aint>(at),
                       static_cast<int>(count), MPI_UINT64_T, win_));
  }
  void add(const Number* from, std::size_t count, int target, std::size_t at) {
    EXPECT_PST(MPI_Accumulate(from, static_cast<int>(count), MPI_UINT64_T, target,
                              static_cast<MPI_Aint>(at), static_cast<int>(count), MPI_UINT64_T,
                              MPI_SUM, win_));
  }
  void complete(Lane& lane) { EXPECT_PST(PST_Win_complete_stream(win_, lane.queue())); }
  void wait(Lane& lane) { EXPECT_PST(PST_Win_wait_stream(win_, lane.queue())); }

 private:
  std::unique_ptr<Numbers> own_;  // null: the library's
  Number* base_ = nullptr;
  std::span<Number> allocated_;
  MPI_Win win_ = MPI_WIN_NULL;
};

// What a stream does between its communication: functions of the test, which stay until the end.
class Script {
 public:
  void run(Lane& lane, std::function<void()> function) {
    functions_.push_back(std::make_unique<std::function<void()>>(std::move(function)));
    lane.launch([](void* one) { (*static_cast<std::function<void()>*>(one))(); },
                functions_.back().get());
  }

 private:
  std::vector<std::unique_ptr<std::function<void()>>> functions_;
};

// A number that tells who has written it, when and where.
inline Number stamp(int writer, std::uint64_t epoch, std::size_t place) {
  return (static_cast<Number>(writer) + 1) << 48 | epoch << 16 | (place & 0xffff);
}
// How many are not what `writer` has written.
inline std::uint64_t count_wrong(std::span<const Number> numbers, int writer, std::uint64_t epoch) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) wrong += numbers[i] != stamp(writer, epoch, i);
  return wrong;
}

}  // namespace penstock::test
