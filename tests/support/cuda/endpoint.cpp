// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/endpoint.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "support/environment.hpp"

#define EXPECT_CUDA(call)                                                        \
  do {                                                                           \
    const cudaError_t code_ = (call);                                            \
    EXPECT_EQ(code_, cudaSuccess) << #call << ": " << cudaGetErrorString(code_); \
  } while (false)

namespace penstock::test {
namespace {

constexpr std::size_t guard = 64;
constexpr std::uint8_t guard_value = 0xA5;
constexpr std::uint8_t clear_value = 0x5C;
constexpr std::uint8_t scribble_value = 0xEE;

// The stream of the lane that launches a function of Sender or Receiver.
thread_local cudaStream_t current_stream = nullptr;

bool enqueues(void (*function)(void*)) {
  for (const auto known :
       {&Sender::fill, &Sender::scribble, &Receiver::clear, &Receiver::check_clear, &Receiver::check})
    if (known == function) return true;
  return false;
}

Tally* make_tally() {
  void* memory = nullptr;
  EXPECT_CUDA(cudaHostAlloc(&memory, sizeof(Tally), cudaHostAllocMapped));
  *static_cast<Tally*>(memory) = {};
  return static_cast<Tally*>(memory);
}

}  // namespace

bool choose_device(const char*& why_not) {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  why_not = code != cudaSuccess ? cudaGetErrorString(code) : devices == 0 ? "no device" : nullptr;
  if (why_not != nullptr) return false;
  EXPECT_CUDA(cudaSetDevice(rank() % devices));
  load_kernels();
  return true;
}

Lane::Lane() {
  EXPECT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  EXPECT_PST(PST_Queue_init(&queue_, PST_QUEUE_CUDA, &stream_));
}

Lane::Lane(cudaStream_t stream) : stream_(stream), owned_(false) {
  EXPECT_PST(PST_Queue_init(&queue_, PST_QUEUE_CUDA, &stream_));
}

Lane::~Lane() {
  EXPECT_PST(PST_Queue_free(&queue_));
  if (owned_) EXPECT_CUDA(cudaStreamDestroy(stream_));
}

void Lane::launch(void (*function)(void*), void* argument) {
  if (enqueues(function)) {
    current_stream = stream_;
    function(argument);
  } else {
    EXPECT_CUDA(cudaLaunchHostFunc(stream_, function, argument));
  }
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
  EXPECT_CUDA(cudaStreamSynchronize(stream_));
}

Buffer::Buffer(std::size_t bytes, Memory memory, std::size_t shift)
    : bytes_(bytes), memory_(memory), behind_(guard + 64 - shift) {
  const std::size_t total = guard + shift + bytes + behind_;
  void* base = nullptr;
  if (memory == Memory::allocated) {
    EXPECT_CUDA(cudaMallocAsync(&base, total, cudaStreamPerThread));
    EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  } else {
    EXPECT_CUDA(cudaMalloc(&base, total));
  }
  base_ = static_cast<std::byte*>(base);
  data_ = base_ + guard + shift;
  enqueue_set(cudaStreamPerThread, base_, total, guard_value);
  EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
}

Buffer::~Buffer() {
  if (memory_ == Memory::allocated) {
    EXPECT_CUDA(cudaFreeAsync(base_, cudaStreamPerThread));
  } else {
    EXPECT_CUDA(cudaFree(base_));
  }
}

void Buffer::enqueue_check_guards(cudaStream_t stream, Tally* tally) const {
  enqueue_check_value(stream, base_, static_cast<std::size_t>(data_ - base_), guard_value, tally);
  enqueue_check_value(stream, data_ + bytes_, behind_, guard_value, tally);
}

const char* name(Kind kind) {
  constexpr const char* names[] = {"standard", "synchronous", "ready", "buffered"};
  return names[static_cast<int>(kind)];
}

const char* name(Memory memory) {
  return memory == Memory::ordinary ? "cudaMalloc" : "cudaMallocAsync";
}

Sender::Sender(std::size_t bytes, Memory memory, std::uint64_t key, std::size_t shift)
    : buffer_(bytes, memory, shift), key_(key), tally_(make_tally()) {}

Sender::~Sender() {
  free();
  EXPECT_CUDA(cudaFreeHost(tally_));
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
  enqueue_fill(current_stream, self.buffer_.data(), self.buffer_.bytes(), self.key_, self.tally_);
}

void Sender::scribble(void* sender) {
  auto& self = *static_cast<Sender*>(sender);
  enqueue_set(current_stream, self.buffer_.data(), self.buffer_.bytes(), scribble_value);
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
    : bytes_(bytes), buffer_(bytes + extra, memory, shift), key_(key), tally_(make_tally()) {}

Receiver::~Receiver() {
  free();
  EXPECT_CUDA(cudaFreeHost(tally_));
}

void Receiver::init(int source, int tag, MPI_Comm comm) {
  EXPECT_PST(MPI_Recv_init(buffer_.data(), static_cast<int>(buffer_.bytes()), MPI_BYTE, source, tag, comm, &request_));
}

void Receiver::free() {
  if (request_ != MPI_REQUEST_NULL) EXPECT_PST(MPI_Request_free(&request_));
}

std::uint64_t Receiver::checked() const {
  return std::atomic_ref(tally_->epochs).load(std::memory_order_acquire);
}

void Receiver::clear(void* receiver) {
  auto& self = *static_cast<Receiver*>(receiver);
  enqueue_set(current_stream, self.buffer_.data(), self.buffer_.bytes(), clear_value);
}

void Receiver::check_clear(void* receiver) {
  auto& self = *static_cast<Receiver*>(receiver);
  enqueue_check_value(current_stream, self.buffer_.data(), self.buffer_.bytes(), clear_value, self.tally_);
}

void Receiver::check(void* receiver) {
  auto& self = *static_cast<Receiver*>(receiver);
  self.buffer_.enqueue_check_guards(current_stream, self.tally_);
  enqueue_check(current_stream, self.buffer_.data(), self.bytes_, self.buffer_.bytes(), self.key_, clear_value,
                self.tally_);
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
  EXPECT_EQ(tally_->complaints, 0u) << "wrong bytes; the first: byte " << tally_->first_byte << " of " << bytes_
                                    << " in epoch " << tally_->first_epoch;
}

std::uint64_t sequence_key(int source, int destination, int tag) {
  std::uint64_t key = seed();
  for (const int part : {source, destination, tag})
    key = (key ^ static_cast<std::uint64_t>(part + 1)) * 0x9E3779B97F4A7C15u;
  return key;
}

void enqueue_delay(Lane& lane, std::uintptr_t microseconds) {
  enqueue_spin(lane.stream(), microseconds);
}

}  // namespace penstock::test
