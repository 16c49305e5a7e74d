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

}  // namespace penstock::test
