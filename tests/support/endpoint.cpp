// SPDX-License-Identifier: Apache-2.0
#include "support/endpoint.hpp"

#include <gtest/gtest.h>

#include "support/environment.hpp"

namespace penstock::test {
namespace {

constexpr std::size_t guard = 64;
constexpr std::byte guard_value{0xA5};
constexpr std::byte clear_value{0x5C};
constexpr std::byte scribble_value{0xEE};

}  // namespace

Lane::Lane() : Lane(make_stream()) {
  owned_ = true;
}

Lane::Lane(Stream stream) : stream_(stream), owned_(false) {
  EXPECT_PST(PST_Queue_init(&queue_, queue_type, &stream_));
}

Lane::~Lane() {
  if (queue_ != PST_QUEUE_NULL) {
    EXPECT_PST(PST_Queue_free(&queue_));
  }
  if (owned_) free_stream(stream_);
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

Buffer::Buffer(std::size_t bytes, Memory memory, std::size_t shift)
    : bytes_(bytes), memory_(memory), behind_(guard + 64 - shift) {
  const std::size_t total = guard + shift + bytes + behind_;
  base_ = allocate(memory, total, guard_value);
  data_ = base_ + guard + shift;
}

Buffer::~Buffer() {
  test::free(memory_, base_);
}

void Buffer::check_guards(Tally& tally) const {
  tally.check_value("before the buffer", base_, static_cast<std::size_t>(data_ - base_),
                    guard_value);
  tally.check_value("behind the buffer", data_ + bytes_, behind_, guard_value);
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
  EXPECT_PST(make(buffer_.data(), static_cast<int>(buffer_.bytes()), MPI_BYTE, destination, tag,
                  comm, &request_));
}

void Sender::free() {
  if (request_ != MPI_REQUEST_NULL) EXPECT_PST(MPI_Request_free(&request_));
}

void Sender::fill(void* sender) {
  auto& self = *static_cast<Sender*>(sender);
  self.tally_.fill(self.buffer_.data(), self.buffer_.bytes(), self.key_);
  self.tally_.count();
}

void Sender::scribble(void* sender) {
  auto& self = *static_cast<Sender*>(sender);
  self.tally_.set(self.buffer_.data(), self.buffer_.bytes(), scribble_value);
}

void Sender::check_guards(void* sender) {
  auto& self = *static_cast<Sender*>(sender);
  self.buffer_.check_guards(self.tally_);
}

void Sender::enqueue_start(Lane& lane) {
  lane.launch(fill, this);
  lane.start(request_);
}

void Sender::enqueue_wait(Lane& lane) {
  lane.wait(request_);
  lane.launch(scribble, this);
}

void Sender::expect_good(std::uint64_t epochs) const {
  EXPECT_EQ(tally_.epochs(), epochs) << "messages filled on the stream";
  EXPECT_EQ(tally_.complaint(), "");
}

Receiver::Receiver(std::size_t bytes, Memory memory, std::uint64_t key, std::size_t shift,
                   std::size_t extra)
    : bytes_(bytes), buffer_(bytes + extra, memory, shift), key_(key) {}

Receiver::~Receiver() {
  free();
}

void Receiver::init(int source, int tag, MPI_Comm comm) {
  EXPECT_PST(MPI_Recv_init(buffer_.data(), static_cast<int>(buffer_.bytes()), MPI_BYTE, source, tag,
                           comm, &request_));
}

void Receiver::free() {
  if (request_ != MPI_REQUEST_NULL) EXPECT_PST(MPI_Request_free(&request_));
}

void Receiver::clear(void* receiver) {
  auto& self = *static_cast<Receiver*>(receiver);
  self.tally_.set(self.buffer_.data(), self.buffer_.bytes(), clear_value);
}

void Receiver::check_clear(void* receiver) {
  auto& self = *static_cast<Receiver*>(receiver);
  self.tally_.check_value("delivered before the receive was started", self.buffer_.data(),
                          self.buffer_.bytes(), clear_value);
}

void Receiver::check(void* receiver) {
  auto& self = *static_cast<Receiver*>(receiver);
  self.tally_.check(self.buffer_.data(), self.bytes_, self.key_);
  self.tally_.check_value("beyond the message", self.buffer_.data() + self.bytes_,
                          self.buffer_.bytes() - self.bytes_, clear_value);
  self.buffer_.check_guards(self.tally_);
  self.tally_.count();
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
  EXPECT_EQ(checked(), epochs) << "messages checked on the stream";
  EXPECT_EQ(tally_.complaint(), "");
}

std::uint64_t sequence_key(int source, int destination, int tag) {
  std::uint64_t key = seed();
  for (const int part : {source, destination, tag})
    key = (key ^ static_cast<std::uint64_t>(part + 1)) * 0x9E3779B97F4A7C15u;
  return key;
}

}  // namespace penstock::test
