// SPDX-License-Identifier: Apache-2.0
#include "enqueued/gpu/segment_lists.hpp"

namespace penstock::enqueued {

const datatype::Segment* SegmentLists::find(const Shared& segments, std::uint64_t bundle,
                                            std::uint64_t taken) {
  const auto list = segments->list();
  if (list.size() == 1) return nullptr;
  auto found = lists_.find(segments.get());
  if (found == lists_.end()) {
    if (lists_.size() >= many)
      std::erase_if(lists_, [&](const auto& each) { return each.second.last_bundle <= taken; });
    auto on_device = arena_->allocate(list.size_bytes());
    arena_->write(on_device.get(), list.data(), list.size_bytes());
    found = lists_.emplace(segments.get(), List{segments, std::move(on_device), bundle}).first;
  }
  found->second.last_bundle = bundle;
  return reinterpret_cast<const datatype::Segment*>(found->second.on_device.get());
}

}  // namespace penstock::enqueued
