// SPDX-License-Identifier: Apache-2.0
#include "base/free_ranges.hpp"

#include <iterator>
#include <utility>

namespace penstock::base {

Ranges::Spare Ranges::one_spare() {
  Spare spare;
  spare.by_offset.emplace();
  spare.by_size.emplace();
  return spare;
}

void Ranges::keep(Spare spare) noexcept {
  spare_.by_offset.insert(spare.by_offset.extract(spare.by_offset.begin()));
  spare_.by_size.insert(spare.by_size.extract(spare.by_size.begin()));
}

void Ranges::insert(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  auto range = spare_.by_offset.extract(spare_.by_offset.begin());
  range.key() = offset;
  range.mapped() = bytes;
  by_offset_.insert(std::move(range));
  auto size = spare_.by_size.extract(spare_.by_size.begin());
  size.value() = {bytes, offset};
  by_size_.insert(std::move(size));
  free_bytes_ += bytes;
}

void Ranges::erase(std::map<std::uint64_t, std::uint64_t>::iterator range) noexcept {
  spare_.by_size.insert(by_size_.extract({range->second, range->first}));
  free_bytes_ -= range->second;
  spare_.by_offset.insert(by_offset_.extract(range));
}

void Ranges::add_chunk(std::uint64_t offset, std::uint64_t bytes) {
  Spare spare = one_spare();
  chunk_starts_.insert(offset);
  keep(std::move(spare));
  insert(offset, bytes);
}

std::optional<std::uint64_t> Ranges::take(std::uint64_t bytes, std::uint64_t alignment) {
  for (auto candidate = by_size_.lower_bound({bytes, 0}); candidate != by_size_.end();
       ++candidate) {
    const auto [size, offset] = *candidate;
    const std::uint64_t begin = (offset + alignment - 1) / alignment * alignment;
    if (begin + bytes > offset + size) continue;
    keep(one_spare());
    erase(by_offset_.find(offset));
    insert(offset, begin - offset);
    insert(begin + bytes, offset + size - begin - bytes);
    return begin;
  }
  return std::nullopt;
}

void Ranges::give(std::uint64_t offset, std::uint64_t bytes) noexcept {
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
  spare_.by_offset.erase(spare_.by_offset.begin());
  spare_.by_size.erase(spare_.by_size.begin());
}

}  // namespace penstock::base
