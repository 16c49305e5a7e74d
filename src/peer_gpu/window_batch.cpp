// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/window_batch.hpp"

#include <algorithm>

#include "peer_gpu/window_kernels.hpp"

namespace penstock::peer_gpu {

using transport::Operation;

bool WindowBatch::takes(const WindowItem& item, std::size_t operations) const noexcept {
  if (count_ == items_.size() || listed_ + operations > operations_.size()) return false;
  // Two epochs of one end are two kernels.
  return std::none_of(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(count_),
                      [&](const WindowItem& each) {
                        return each.call > item.call ||
                               (each.call == item.call && each.id == item.id);
                      });
}

void WindowBatch::add(WindowItem item, const Gating& gating,
                      std::span<const Operation> list) noexcept {
  if (!takes(item, list.size())) queue_.flush();
  item.first = static_cast<std::uint16_t>(listed_);
  item.count = static_cast<std::uint16_t>(list.size());
  gatings_[count_] = gating;
  items_[count_++] = item;
  gated_ = gated_ || gating;
  std::copy(list.begin(), list.end(), operations_.begin() + static_cast<std::ptrdiff_t>(listed_));
  listed_ += list.size();
}

cudaError_t WindowBatch::launch(const Launch& launch) noexcept {
  const cudaError_t code = gated_ ? launch_behind_gates(launch) : launch_range(launch, 0, count_);
  // Of what does not run, no kernel can tell the peers.
  if (code != cudaSuccess)
    for (std::size_t i = 0; i < count_; ++i) queue_.poison(items_[i].id);
  count_ = listed_ = 0;
  gated_ = false;
  return code;
}

cudaError_t WindowBatch::launch_range(const Launch& launch, std::size_t from,
                                      std::size_t to) const noexcept {
  return launch_windows(launch, {items_.data() + from, to - from}, {operations_.data(), listed_});
}

// Nothing that a gate may wait for stands behind it: each kind of call has a kernel of its own.
cudaError_t WindowBatch::launch_behind_gates(const Launch& launch) const noexcept {
  cudaError_t code = cudaSuccess;
  for (std::size_t from = 0, to = 0; from < count_ && code == cudaSuccess; from = to) {
    while (to < count_ && items_[to].call == items_[from].call) ++to;
    std::array<Gating, largest_batch> gates;
    const auto past = std::copy_if(gatings_.begin() + static_cast<std::ptrdiff_t>(from),
                                   gatings_.begin() + static_cast<std::ptrdiff_t>(to),
                                   gates.begin(), [](const Gating& each) { return bool(each); });
    code = behind_gates(launch, {gates.begin(), past},
                        [&](const Launch& behind) { return launch_range(behind, from, to); });
  }
  return code;
}

}  // namespace penstock::peer_gpu
