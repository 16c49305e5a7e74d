// SPDX-License-Identifier: Apache-2.0
// Enqueued messages whose buffers are in memory of a GPU.
#pragma once

#include "conformance/enqueued.hpp"
#include "support/cuda/expect.hpp"
#include "support/cuda/kernels.hpp"

namespace penstock::test {

class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes, Memory memory = Memory::ordinary)
      : memory_(memory), bytes_(bytes), data_(allocate(memory, bytes + 1, std::byte{0xee})) {}
  DeviceBytes(const Bytes& content) : DeviceBytes(content.size()) {
    if (!content.empty()) copy_bytes(data_, content.data(), content.size());
  }
  ~DeviceBytes() { test::free(memory_, data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  int count() const { return static_cast<int>(bytes_); }
  Bytes content() const {
    Bytes result(bytes_);
    if (bytes_ != 0) copy_bytes(result.data(), data_, bytes_);
    return result;
  }
  // What lies behind is not touched.
  void expect(int from, std::uint64_t number) const {
    expect_message(content(), from, number);
    Bytes behind(1);
    copy_bytes(behind.data(), data_ + bytes_, 1);
    EXPECT_EQ(behind[0], std::byte{0xee});
  }

 private:
  const Memory memory_;
  const std::size_t bytes_;
  std::byte* const data_;
};

class DeviceLane : public EnqueueLane {
 public:
  using EnqueueLane::EnqueueLane;
  void send(const DeviceBytes& from, int to, int tag, MPI_Request* request = nullptr) {
    EXPECT_PST(PST_Enqueue_send(from.data(), from.count(), MPI_BYTE, to, tag, MPI_COMM_NULL,
                                queue(), request));
  }
  void receive(const DeviceBytes& into, int from, int tag, MPI_Request* request = nullptr) {
    EXPECT_PST(PST_Enqueue_recv(into.data(), into.count(), MPI_BYTE, from, tag, MPI_COMM_NULL,
                                queue(), request));
  }
};

class CountsInHost {
 public:
  CountsInHost()
      : counts_(reinterpret_cast<Counts*>(allocate(Memory::pinned, sizeof(Counts), std::byte{0}))) {
  }
  ~CountsInHost() { test::free(Memory::pinned, reinterpret_cast<std::byte*>(counts_)); }
  CountsInHost(const CountsInHost&) = delete;
  CountsInHost& operator=(const CountsInHost&) = delete;
  Counts* get() { return counts_; }
  Counts* operator->() { return counts_; }

 private:
  Counts* const counts_;
};

inline std::uint64_t key_of(int rank) {
  return seed() + static_cast<std::uint64_t>(rank);
}

// Messages to the peer and from it under one trigger and one wait a round: kernels write each one
// between its call and its trigger, and check it behind the wait; the host waits for the queue
// after `ahead` rounds.
inline void run_checked_rounds(DeviceLane& lane, int peer, int tag, std::size_t bytes,
                               Memory memory, int rounds, int ahead) {
  const DeviceBytes out(bytes, memory), in(bytes, memory);
  CountsInHost filled, checked;
  for (int round = 0; round < rounds; ++round) {
    lane.send(out, peer, tag);
    lane.receive(in, peer, tag);
    enqueue_fill(lane.stream(), out.data(), bytes, key_of(rank()), filled.get());
    enqueue_count(lane.stream(), filled.get());
    lane.trigger();
    lane.wait();
    enqueue_check(lane.stream(), in.data(), bytes, key_of(peer), checked.get());
    enqueue_count(lane.stream(), checked.get());
    if (round % ahead == ahead - 1) lane.finish();
  }
  lane.finish();
  EXPECT_EQ(checked->epochs, static_cast<std::uint64_t>(rounds));
  EXPECT_EQ(checked->complaints, 0U) << name(memory) << ", " << bytes << " bytes, byte "
                                     << checked->first_byte << " of round " << checked->first_epoch;
  in.expect(peer, bytes == 0 ? 0 : static_cast<std::uint64_t>(rounds));
}

}  // namespace penstock::test
