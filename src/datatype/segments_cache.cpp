// SPDX-License-Identifier: Apache-2.0
#include "datatype/segments_cache.hpp"

#include <algorithm>
#include <utility>

namespace penstock::datatype {

namespace {

// Any change of a number changes it, in all likelihood; equality decides.
std::uint64_t hash_of(const Segments& segments) {
  std::uint64_t hash = 0;
  const auto add = [&hash](std::uint64_t number) {
    hash = (hash ^ number) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  };
  add(segments.repetitions());
  add(static_cast<std::uint64_t>(segments.view().extent));
  for (const Segment& segment : segments.list()) {
    add(static_cast<std::uint64_t>(segment.offset));
    add(segment.bytes);
    add(segment.count);
    add(static_cast<std::uint64_t>(segment.stride));
  }
  return hash;
}

}  // namespace

std::shared_ptr<const Segments> SegmentsCache::share(std::shared_ptr<const Segments> segments) {
  const std::uint64_t hash = hash_of(*segments);
  const std::lock_guard lock(mutex_);
  const auto [first, end] = known_.equal_range(hash);
  auto free_place = end;
  for (auto each = first; each != end; ++each) {
    auto known = each->second.lock();
    if (!known)
      free_place = each;
    else if (*known == *segments)
      return known;
  }
  if (free_place != end) {  // else one that is made again and again would leave a row of those gone
    free_place->second = segments;
    return segments;
  }
  if (known_.size() >= enough_) forget_those_gone();
  known_.emplace(hash, segments);
  return segments;
}

void SegmentsCache::forget_those_gone() {
  std::erase_if(known_, [](const auto& each) { return each.second.expired(); });
  enough_ = std::max<std::size_t>(64, 2 * known_.size());
}

std::size_t SegmentsCache::size() const {
  const std::lock_guard lock(mutex_);
  return known_.size();
}

SegmentsCache& segments_cache() {
  static auto* const cache = new SegmentsCache;  // never destroyed: requests may end at exit
  return *cache;
}

}  // namespace penstock::datatype
