// SPDX-License-Identifier: Apache-2.0
#include "cuda/message_end.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "support/cuda/expect.hpp"
#include "support/environment.hpp"
#include "support/pattern.hpp"

namespace penstock::test {
namespace {

constexpr std::size_t guard = 64;
constexpr std::uint8_t guard_value = 0xA5;
constexpr std::uint8_t clear_value = 0x5C;
constexpr std::uint8_t scribble_value = 0xEE;

}  // namespace

AnyLane::AnyLane(PST_Queue_type type) : type_(type) {
  if (on_cuda()) {
    EXPECT_CUDA(cudaStreamCreateWithFlags(&cuda_, cudaStreamNonBlocking));
    EXPECT_PST(PST_Queue_init(&queue_, type, &cuda_));
  } else {
    EXPECT_PST(PST_Stream_create(&host_));
    EXPECT_PST(PST_Queue_init(&queue_, type, &host_));
  }
}

AnyLane::~AnyLane() {
  EXPECT_PST(PST_Queue_free(&queue_));
  if (on_cuda())
    EXPECT_CUDA(cudaStreamDestroy(cuda_));
  else
    EXPECT_PST(PST_Stream_free(&host_));
}

void AnyLane::launch_on_host(void (*function)(void*), void* argument) {
  if (on_cuda())
    EXPECT_CUDA(cudaLaunchHostFunc(cuda_, function, argument));
  else
    EXPECT_PST(PST_Stream_launch(host_, function, argument));
}

void AnyLane::finish() {
  EXPECT_PST(PST_Queue_wait(queue_));
}

MessageEnd::MessageEnd(const Options& options, int peer, int tag)
    : options_(options),
      block_(options.kind, guard + options.bytes + guard, options.shift),
      data_(block_.data() + guard) {
  void* counts = nullptr;
  EXPECT_CUDA(cudaHostAlloc(&counts, sizeof(Counts), cudaHostAllocMapped));
  counts_ = static_cast<Counts*>(counts);
  *counts_ = {};
  set_all(guard_value);
  const int count = static_cast<int>(options.bytes);
  if (!options.sends)
    EXPECT_PST(MPI_Recv_init(data_, count, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request_));
  else if (options.buffered)
    EXPECT_PST(MPI_Bsend_init(data_, count, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request_));
  else
    EXPECT_PST(MPI_Send_init(data_, count, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request_));
}

MessageEnd::~MessageEnd() {
  EXPECT_PST(MPI_Request_free(&request_));
  EXPECT_CUDA(cudaFreeHost(counts_));
}

void MessageEnd::set_all(std::uint8_t value) {
  std::byte* const all = data_ - guard;
  const std::size_t bytes = options_.bytes + 2 * guard;
  if (!on_device(options_.kind)) {
    std::memset(all, value, bytes);
    return;
  }
  enqueue_set(cudaStreamPerThread, all, bytes, value);
  EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
}

void MessageEnd::enqueue_start(AnyLane& lane) {
  prepare(lane);
  EXPECT_PST(PST_Enqueue_start(lane.queue(), &request_));
}

void MessageEnd::enqueue_wait(AnyLane& lane) {
  EXPECT_PST(PST_Enqueue_wait(lane.queue(), &request_));
  conclude(lane);
}

void MessageEnd::prepare(AnyLane& lane) {
  if (!on_device(options_.kind))
    return lane.launch_on_host(options_.sends ? &fill_on_host : &clear_on_host, this);
  if (!options_.sends) return enqueue_set(lane.stream(), data_, options_.bytes, clear_value);
  enqueue_fill(lane.stream(), data_, options_.bytes, options_.key, counts_);
  enqueue_count(lane.stream(), counts_);
}

void MessageEnd::conclude(AnyLane& lane) {
  if (!on_device(options_.kind))
    return lane.launch_on_host(options_.sends ? &scribble_on_host : &check_on_host, this);
  if (options_.sends) return enqueue_set(lane.stream(), data_, options_.bytes, scribble_value);
  enqueue_check_value(lane.stream(), data_ - guard, guard, guard_value, counts_);
  enqueue_check_value(lane.stream(), data_ + options_.bytes, guard, guard_value, counts_);
  enqueue_check(lane.stream(), data_, options_.bytes, options_.key, counts_);
  enqueue_count(lane.stream(), counts_);
}

void MessageEnd::fill_on_host(void* end) {
  auto& self = *static_cast<MessageEnd*>(end);
  fill_pattern(self.data_, self.options_.bytes, self.options_.key, ++self.counts_->epochs);
}

void MessageEnd::clear_on_host(void* end) {
  auto& self = *static_cast<MessageEnd*>(end);
  std::memset(self.data_, clear_value, self.options_.bytes);
}

void MessageEnd::scribble_on_host(void* end) {
  auto& self = *static_cast<MessageEnd*>(end);
  std::memset(self.data_, scribble_value, self.options_.bytes);
}

void MessageEnd::check_on_host(void* end) {
  auto& self = *static_cast<MessageEnd*>(end);
  const std::uint64_t epoch = ++self.counts_->epochs;
  std::string complaint = check_pattern(self.data_, self.options_.bytes, self.options_.key, epoch);
  for (const std::byte* around : {self.data_ - guard, self.data_ + self.options_.bytes})
    if (complaint.empty()) complaint = check_value(around, guard, std::byte{guard_value});
  const std::lock_guard lock(self.mutex_);
  if (self.complaint_.empty()) self.complaint_ = complaint;
}

void MessageEnd::expect_good(std::uint64_t epochs) const {
  if (options_.sends) return;
  EXPECT_EQ(counts_->epochs, epochs) << "messages checked on the stream";
  EXPECT_EQ(counts_->complaints, 0u)
      << "wrong bytes; the first: byte " << counts_->first_byte << " of " << counts_->first_bytes
      << " after " << counts_->first_epoch << " epochs";
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(complaint_, "");
}

}  // namespace penstock::test
