// SPDX-License-Identifier: Apache-2.0
// What the tests of collectives are made of, on every device: buffers between borders, requests by
// a certain algorithm, and their epochs.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "penstock/penstock.h"
#include "support/device.hpp"
#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {

// Between borders that nobody may touch; an odd one lies at an address that no number is aligned
// to. The host fills and reads data(); address() is what collectives are given.
class GuardedBlock {
 public:
  explicit GuardedBlock(std::size_t bytes, bool odd = true, Memory kind = Memory::ordinary);
  ~GuardedBlock();
  GuardedBlock(const GuardedBlock&) = delete;
  GuardedBlock& operator=(const GuardedBlock&) = delete;

  std::byte* address() const { return memory_ + before_; }
  std::byte* data() const { return mirror_ + before_; }
  template <class T>
  T* numbers() const {
    return reinterpret_cast<T*>(data());
  }
  std::size_t size() const { return bytes_; }
  void clear();
  void to_device();    // what data() holds, the borders too
  void from_device();  // the other way
  // In stream order.
  void enqueue_to_device(Stream stream) { enqueue_copy(stream, memory_, mirror_, all_bytes()); }
  void enqueue_from_device(Stream stream) { enqueue_copy(stream, mirror_, memory_, all_bytes()); }
  bool borders_hold() const;  // as from_device() has found them

 private:
  std::size_t all_bytes() const;

  std::size_t bytes_;
  Memory kind_;
  std::size_t before_;
  std::byte* memory_;
  std::byte* mirror_;
};

class AlgorithmInfo {
 public:
  explicit AlgorithmInfo(const std::string& algorithm);  // empty: any
  ~AlgorithmInfo();
  AlgorithmInfo(const AlgorithmInfo&) = delete;
  AlgorithmInfo& operator=(const AlgorithmInfo&) = delete;
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

inline constexpr int rounds_each = 4;
inline const std::vector<std::size_t> block_counts{0, 1, 7, 1003, 20011};

// Matches, runs epochs by turns in one call and in two, and frees. `blocks`: those that the request
// reads and writes. False: the algorithm does not serve these ranks, which all of them say alike.
bool run_epochs(MPI_Request request, const std::vector<GuardedBlock*>& blocks, int epochs,
                const std::function<void(int)>& fill, const std::function<void(int)>& check);

}  // namespace penstock::test
