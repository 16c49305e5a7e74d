// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/window_batch.hpp"

#include <algorithm>

#include "peer_gpu/window_kernels.hpp"

namespace penstock::peer_gpu {

using transport::Operation;

namespace {

bool has_gets(std::span<const Operation> list) noexcept {
  return std::any_of(list.begin(), list.end(), [](const Operation& operation) {
    return operation.verb == transport::Verb::get;
  });
}

}  // namespace

bool WindowBatch::takes(const WindowItem& item, std::span<const Operation> list) const noexcept {
  if (count_ == items_.size() || listed_ + list.size() > operations_.size()) return false;
  const bool gets = has_gets_ || has_gets(list);
  for (std::size_t i = 0; i < count_; ++i) {
    const WindowItem& each = items_[i];
    if (each.call > item.call) return false;
    if (each.call != item.call) continue;
    if (each.id == item.id) return false;  // two epochs of one end are two kernels
    if (each.call == WindowCall::complete && gets && gathered_[i].call != call_) return false;
  }
  return true;
}

void WindowBatch::add(WindowItem item, const Gating& gating, std::span<const Operation> list,
                      std::atomic<bool>& gathered) noexcept {
  if (!takes(item, list)) queue_.flush();
  item.first = static_cast<std::uint16_t>(listed_);
  item.count = static_cast<std::uint16_t>(list.size());
  gathered.store(true, std::memory_order_relaxed);
  gathered_[count_] = {gating, call_, &gathered};
  items_[count_++] = item;
  gated_ = gated_ || gating;
  has_gets_ = has_gets_ || has_gets(list);
  std::copy(list.begin(), list.end(), operations_.begin() + static_cast<std::ptrdiff_t>(listed_));
  listed_ += list.size();
}

cudaError_t WindowBatch::launch(const Launch& launch) noexcept {
  const bool together = merges_ && !gated_ && !launch.crowded;
  const cudaError_t code = together ? launch_range(launch, 0, count_) : launch_call_by_call(launch);
  for (std::size_t i = 0; i < count_; ++i) {
    // Of what does not run, no kernel can tell the peers.
    if (code != cudaSuccess) queue_.poison(items_[i].id);
    gathered_[i].flag->store(false, std::memory_order_relaxed);
  }
  count_ = listed_ = 0;
  gated_ = has_gets_ = false;
  return code;
}

cudaError_t WindowBatch::launch_range(const Launch& launch, std::size_t from,
                                      std::size_t to) const noexcept {
  return launch_windows(launch, {items_.data() + from, to - from}, {operations_.data(), listed_});
}

// A complete may be what the peer waits for before it does what a later call waits for.
bool WindowBatch::joins(std::size_t first, std::size_t next) const noexcept {
  if (!merges_) return first == next;
  return items_[first].call == items_[next].call && (items_[first].call != WindowCall::complete ||
                                                     gathered_[first].call == gathered_[next].call);
}

// Where a stream stands at gates, or one block of a kernel may come to do all its duties one after
// the other: nothing that they may wait for stands behind them.
cudaError_t WindowBatch::launch_call_by_call(const Launch& launch) const noexcept {
  cudaError_t code = cudaSuccess;
  for (std::size_t from = 0, to = 0; from < count_ && code == cudaSuccess; from = to) {
    std::array<Gating, largest_batch> gates;
    std::size_t gated = 0;
    for (; to < count_ && joins(from, to); ++to)
      if (gathered_[to].gating) gates[gated++] = gathered_[to].gating;
    code = behind_gates(launch, {gates.data(), gated},
                        [&](const Launch& behind) { return launch_range(behind, from, to); });
  }
  return code;
}

}  // namespace penstock::peer_gpu
