// SPDX-License-Identifier: Apache-2.0
#include "enqueued/gpu/segment_lists.hpp"

#include <algorithm>

namespace penstock::enqueued {

bool SegmentLists::is_unused(const std::shared_ptr<SegmentList>& list) const noexcept {
  return list.use_count() == 1 && list->packed_for <= load(words_.triggered) &&
         list->unpacked_for <= load(words_.taken);
}

std::shared_ptr<SegmentList> SegmentLists::find(
    const std::shared_ptr<const datatype::Segments>& segments) {
  const auto list = segments->list();
  if (list.size() == 1) return nullptr;
  const auto found = std::find_if(lists_.begin(), lists_.end(),
                                  [&](const auto& each) { return each->segments == segments; });
  if (found != lists_.end()) return *found;
  if (lists_.size() >= many)
    std::erase_if(lists_, [&](const auto& each) { return is_unused(each); });
  auto on_device = arena_->allocate(list.size_bytes());
  arena_->write(on_device.get(), list.data(), list.size_bytes());
  return lists_.emplace_back(
      std::make_shared<SegmentList>(SegmentList{segments, std::move(on_device)}));
}

}  // namespace penstock::enqueued
