// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "common/options.hpp"

namespace penstock::apps {

class Lane;

// What the program computes on, or what messages are sent from and received into, which on the host
// is memory that Penstock's messages reach at once (PST_Alloc_mem).
enum class Use { data, messages };

// Owns zeroed memory of a device.
class Memory {
 public:
  Memory(std::byte* data, std::size_t bytes, std::function<void(std::byte*)> free)
      : bytes_(bytes), data_(data, std::move(free)) {}

  std::byte* data() const noexcept { return data_.get(); }
  std::size_t bytes() const noexcept { return bytes_; }
  template <class Element>
  std::span<Element> as() const noexcept {
    return {reinterpret_cast<Element*>(data_.get()), bytes_ / sizeof(Element)};
  }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte, std::function<void(std::byte*)>> data_;
};

Memory allocate(DeviceKind device, Use use, std::size_t bytes);
// Of the host, and such that a GPU copies to and from it by itself.
Memory allocate_pinned(std::size_t bytes);
// Both block until the copy is made: from the device's memory to the host's, and to it, behind the
// lane's work.
void fetch(DeviceKind device, void* to, const void* from, std::size_t bytes);
void store(DeviceKind device, Lane& lane, void* to, const void* from, std::size_t bytes);

}  // namespace penstock::apps
