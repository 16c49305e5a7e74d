// SPDX-License-Identifier: Apache-2.0
// Which parts of a growing file are free: best fit, neighbours merged, never across the border of two chunks, since
// each chunk is mapped apart. No thread safety of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace penstock::transport {

class Ranges {
 public:
  void add_chunk(std::uint64_t offset, std::uint64_t bytes);
  std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment);
  void give(std::uint64_t offset, std::uint64_t bytes);
  std::uint64_t free_bytes() const noexcept { return free_bytes_; }

 private:
  void insert(std::uint64_t offset, std::uint64_t bytes);
  void erase(std::map<std::uint64_t, std::uint64_t>::iterator range);

  std::map<std::uint64_t, std::uint64_t> by_offset_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // size, offset
  std::set<std::uint64_t> chunk_starts_;
  std::uint64_t free_bytes_ = 0;
};

}  // namespace penstock::transport
