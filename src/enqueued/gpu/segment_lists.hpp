// SPDX-License-Identifier: Apache-2.0
// Lists of the segments of datatypes, on a device, for the kernels that pack and unpack.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "datatype/segments.hpp"
#include "gpu/device_arena.hpp"

namespace penstock::enqueued {

class SegmentLists {
 public:
  using Shared = std::shared_ptr<const datatype::Segments>;

  explicit SegmentLists(std::shared_ptr<gpu::DeviceArena> arena) noexcept
      : arena_(std::move(arena)) {}
  // The list on the device, for kernels of bundle number `bundle`; null: it is one segment, which
  // travels with the launch. Lists that no kernel needs any more are given back now and then: those
  // of bundles up to `taken`. Throws base::Error.
  const datatype::Segment* find(const Shared& segments, std::uint64_t bundle, std::uint64_t taken);

 private:
  struct List {
    Shared segments;  // its address is not used again
    std::shared_ptr<std::byte> on_device;
    std::uint64_t last_bundle;
  };
  static constexpr std::size_t many = 64;

  std::shared_ptr<gpu::DeviceArena> arena_;
  std::map<const datatype::Segments*, List> lists_;
};

}  // namespace penstock::enqueued
