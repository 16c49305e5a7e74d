// SPDX-License-Identifier: Apache-2.0
// Lists of the segments of datatypes, on a device, for the kernels that pack and unpack.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "datatype/segments.hpp"
#include "enqueued/staged_message.hpp"
#include "enqueued/words.hpp"
#include "gpu/device_arena.hpp"

namespace penstock::enqueued {

struct SegmentList {
  std::shared_ptr<const datatype::Segments> segments;  // its address is not used again
  std::shared_ptr<std::byte> on_device;
  // Bundles whose kernels read it: before their trigger, and behind their wait.
  std::uint64_t packed_for = 0;
  std::uint64_t unpacked_for = 0;

  const datatype::Segment* begin() const noexcept {
    return reinterpret_cast<const datatype::Segment*>(on_device.get());
  }
};

class SegmentLists {
 public:
  SegmentLists(std::shared_ptr<gpu::DeviceArena> arena, const QueueWords& words) noexcept
      : arena_(std::move(arena)), words_(words) {}
  // Null: it is one segment, which travels with the launch. Lists that neither a message nor a
  // kernel needs are given back now and then. Throws base::Error.
  std::shared_ptr<SegmentList> find(const std::shared_ptr<const datatype::Segments>& segments);

 private:
  static constexpr std::size_t many = 64;

  bool is_unused(const std::shared_ptr<SegmentList>& list) const noexcept;

  std::shared_ptr<gpu::DeviceArena> arena_;
  const QueueWords& words_;
  std::vector<std::shared_ptr<SegmentList>> lists_;
};

}  // namespace penstock::enqueued
