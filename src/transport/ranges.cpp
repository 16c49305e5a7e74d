// SPDX-License-Identifier: Apache-2.0
#include "transport/ranges.hpp"

#include <iterator>

namespace penstock::transport {

void Ranges::insert(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  by_offset_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
  free_bytes_ += bytes;
}

void Ranges::erase(std::map<std::uint64_t, std::uint64_t>::iterator range) {
  by_size_.erase({range->second, range->first});
  free_bytes_ -= range->second;
  by_offset_.erase(range);
}

void Ranges::add_chunk(std::uint64_t offset, std::uint64_t bytes) {
  chunk_starts_.insert(offset);
  insert(offset, bytes);
}

std::optional<std::uint64_t> Ranges::take(std::uint64_t bytes, std::uint64_t alignment) {
  for (auto candidate = by_size_.lower_bound({bytes, 0}); candidate != by_size_.end(); ++candidate) {
    const auto [size, offset] = *candidate;
    const std::uint64_t begin = (offset + alignment - 1) / alignment * alignment;
    if (begin + bytes > offset + size) continue;
    erase(by_offset_.find(offset));
    insert(offset, begin - offset);
    insert(begin + bytes, offset + size - begin - bytes);
    return begin;
  }
  return std::nullopt;
}

void Ranges::give(std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t begin = offset;
  std::uint64_t end = offset + bytes;
  auto next = by_offset_.lower_bound(offset);
  if (next != by_offset_.begin() && !chunk_starts_.contains(begin)) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      erase(before);
    }
  }
  if (next != by_offset_.end() && next->first == end && !chunk_starts_.contains(end)) {
    end += next->second;
    erase(next);
  }
  insert(begin, end - begin);
}

}  // namespace penstock::transport
