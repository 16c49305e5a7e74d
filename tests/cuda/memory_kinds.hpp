// SPDX-License-Identifier: Apache-2.0
// Memory of every kind that a CUDA program may hand to MPI.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace penstock::test {

enum class Allocation {
  device,          // cudaMalloc
  stream_ordered,  // cudaMallocAsync
  managed,         // cudaMallocManaged
  chunks,          // physical chunks mapped one behind the other, as expandable segments are
  pinned,          // cudaHostAlloc
  registered,      // malloc, then cudaHostRegister
  pageable,        // malloc
};
const char* name(Allocation kind);
bool on_device(Allocation kind);  // otherwise the host's, whether or not kernels can reach it

// Those that every rank can have. The first call is collective.
const std::vector<Allocation>& allocations();

class Block {
 public:
  // `bytes` bytes, `shift` past an aligned address; of `chunks` the middle lies on the border of
  // two. Throws std::runtime_error.
  Block(Allocation kind, std::size_t bytes, std::size_t shift = 0);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::function<void()> free_;
};

}  // namespace penstock::test
