// SPDX-License-Identifier: Apache-2.0
// Which parts of a growing file are free: best fit, neighbours merged, never across the border of
// two chunks, since each chunk is mapped apart. To give back takes no memory: what it may need is
// set aside when it is taken. A call that throws std::bad_alloc has changed nothing. No thread
// safety of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace penstock::base {

class Ranges {
 public:
  void add_chunk(std::uint64_t offset, std::uint64_t bytes);
  std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment);
  void give(std::uint64_t offset, std::uint64_t bytes) noexcept;  // what take() gave, whole
  std::uint64_t free_bytes() const noexcept { return free_bytes_; }

 private:
  // Nodes of by_offset_ and by_size_ in which no range is.
  struct Spare {
    std::multimap<std::uint64_t, std::uint64_t> by_offset;
    std::multiset<std::pair<std::uint64_t, std::uint64_t>> by_size;
  };
  static Spare one_spare();
  void keep(Spare spare) noexcept;
  void insert(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void erase(std::map<std::uint64_t, std::uint64_t>::iterator range) noexcept;

  std::map<std::uint64_t, std::uint64_t> by_offset_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // size, offset
  // With those in use as many as chunks and taken ranges together: between two of these lies one
  // free range at most.
  Spare spare_;
  std::set<std::uint64_t> chunk_starts_;
  std::uint64_t free_bytes_ = 0;
};

}  // namespace penstock::base
