// SPDX-License-Identifier: Apache-2.0
#include "support/endpoint.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "support/environment.hpp"
#include "support/pattern.hpp"

namespace penstock::test {
namespace {

constexpr std::size_t guard = 64;
constexpr std::byte guard_value{0xA5};
constexpr std::byte clear_value{0x5C};
constexpr std::byte scribble_value{0xEE};

}  // namespace

Lane::Lane() {
  EXPECT_PST(PST_Stream_create(&stream_));
  EXPECT_PST(PST_Queue_init(&queue_, PST_QUEUE_HOST, &stream_));
}

Lane::~Lane() {
  EXPECT_PST(PST_Queue_free(&queue_));
  EXPECT_PST(PST_Stream_free(&stream_));
}

void Lane::launch(void (*function)(void*), void* argument) {
  EXPECT_PST(PST_Stream_launch(stream_, function, argument));
}
void Lane::start(MPI_Request& request) {
  EXPECT_PST(PST_Enqueue_start(queue_, &request));
}
void Lane::wait(MPI_Request& request) {
  EXPECT_PST(PST_Enqueue_wait(queue_, &request));
}
void Lane::finish() {
  EXPECT_PST(PST_Queue_wait(queue_));
}

void Lane::synchronize() {
  EXPECT_PST(PST_Stream_synchronize(stream_));
}

Buffer::Buffer(std::size_t bytes, Memory memory, std::size_t shift)
    : bytes_(bytes), memory_(memory), behind_(guard + 64 - shift) {
  const std::size_t total = guard + shift + bytes + behind_;
  if (memory == Memory::allocated) {
    EXPECT_PST(PST_Alloc_mem(static_cast<MPI_Aint>(total), MPI_INFO_NULL, &base_));
  } else {
    base_ = static_cast<std::byte*>(std::aligned_alloc(64, (total + 63) / 64 * 64));
  }
  data_ = base_ + guard + shift;
  std::memset(base_, std::to_integer<int>(guard_value), total);
}

Buffer::~Buffer() {
  if (memory_ == Memory::allocated) {
    EXPECT_PST(PST_Free_mem(base_));
  } else {
    std::free(base_);
  }
}

std::string Buffer::check_guards() const {
  const std::string before = check_value(base_, static_cast<std::size_t>(data_ - base_), guard_value);
  if (!before.empty()) return "before the buffer: " + before;
  const std::string behind = check_value(data_ + bytes_, behind_, guard_value);
  return behind.empty() ? "" : "behind the buffer: " + behind;
}

const char* name(Kind kind) {
  switch (kind) {
    case Kind::standard:
      return "standard";
    case Kind::synchronous:
      return "synchronous";
    case Kind::ready:
      return "ready";
    case Kind::buffered:
      return "buffered";
  }
  return "?";
}

const char* name(Memory memory) {
  return memory == Memory::ordinary ? "ordinary" : "allocated";
}

Sender::Sender(std::size_t bytes, Memory memory, std::uint64_t key, std::size_t shift)
    : buffer_(bytes, memory, shift), key_(key) {}

Sender::~Sender() {
  free();
}

void Sender::init(Kind kind, int destination, int tag, MPI_Comm comm) {
  const auto make = kind == Kind::standard      ? MPI_Send_init
                    : kind == Kind::synchronous ? MPI_Ssend_init
                    : kind == Kind::ready       ? MPI_Rsend_init
                                                : MPI_Bsend_init;
  EXPECT_PST(make(buffer_.data(), static_cast<int>(buffer_.bytes()), MPI_BYTE, destination, tag, comm, &request_));
}

void Sender::free() {
  if (request_ != MPI_REQUEST_NULL) EXPECT_PST(MPI_Request_free(&request_));
}

void Sender::fill(void* sender) {
  auto& self = *static_cast<Sender*>(sender);
  fill_pattern(self.buffer_.data(), self.buffer_.bytes(), self.key_, ++self.epoch_);
}

void Sender::scribble(void* sender) {
  auto& self = *static_cast<Sender*>(sender);
  std::memset(self.buffer_.data(), std::to_integer<int>(scribble_value), self.buffer_.bytes());
}

void Sender::enqueue_start(Lane& lane) {
  lane.launch(fill, this);
  lane.start(request_);
}

void Sender::enqueue_wait(Lane& lane) {
  lane.wait(request_);
  lane.launch(scribble, this);
}

Receiver::Receiver(std::size_t bytes, Memory memory, std::uint64_t key, std::size_t shift, std::size_t extra)
    : bytes_(bytes), buffer_(bytes + extra, memory, shift), key_(key) {}

Receiver::~Receiver() {
  free();
}

void Receiver::init(int source, int tag, MPI_Comm comm) {
  EXPECT_PST(MPI_Recv_init(buffer_.data(), static_cast<int>(buffer_.bytes()), MPI_BYTE, source, tag, comm, &request_));
}

void Receiver::free() {
  if (request_ != MPI_REQUEST_NULL) EXPECT_PST(MPI_Request_free(&request_));
}

void Receiver::clear(void* receiver) {
  auto& self = *static_cast<Receiver*>(receiver);
  std::memset(self.buffer_.data(), std::to_integer<int>(clear_value), self.buffer_.bytes());
}

void Receiver::check_clear(void* receiver) {
  auto& self = *static_cast<Receiver*>(receiver);
  const std::string found = check_value(self.buffer_.data(), self.buffer_.bytes(), clear_value);
  if (!found.empty()) self.note("delivered before the receive was started: " + found);
}

void Receiver::check(void* receiver) {
  auto& self = *static_cast<Receiver*>(receiver);
  const std::uint64_t epoch = self.epoch_.load(std::memory_order_relaxed) + 1;
  const std::byte* data = self.buffer_.data();
  std::string complaint = check_pattern(data, self.bytes_, self.key_, epoch);
  if (complaint.empty()) complaint = check_value(data + self.bytes_, self.buffer_.bytes() - self.bytes_, clear_value);
  if (complaint.empty()) complaint = self.buffer_.check_guards();
  if (!complaint.empty()) self.note(complaint);
  self.epoch_.store(epoch, std::memory_order_release);
}

void Receiver::enqueue_start(Lane& lane) {
  lane.launch(clear, this);
  lane.start(request_);
}

void Receiver::enqueue_wait(Lane& lane) {
  lane.wait(request_);
  lane.launch(check, this);
}

void Receiver::expect_good(std::uint64_t epochs) const {
  std::lock_guard lock(mutex_);
  EXPECT_EQ(checked(), epochs) << "messages checked on the stream";
  EXPECT_EQ(complaints_, 0u) << "wrong messages; the first: " << complaint_;
}

void Receiver::note(const std::string& complaint) {
  std::lock_guard lock(mutex_);
  if (complaints_++ == 0) complaint_ = complaint;
}

std::uint64_t sequence_key(int source, int destination, int tag) {
  std::uint64_t key = seed();
  for (const int part : {source, destination, tag})
    key = (key ^ static_cast<std::uint64_t>(part + 1)) * 0x9E3779B97F4A7C15u;
  return key;
}

void enqueue_delay(Lane& lane, std::uintptr_t microseconds) {
  lane.launch(
      [](void* time) {
        std::this_thread::sleep_for(std::chrono::microseconds(reinterpret_cast<std::uintptr_t>(time)));
      },
      reinterpret_cast<void*>(microseconds));
}

}  // namespace penstock::test
