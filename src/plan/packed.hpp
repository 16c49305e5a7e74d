// SPDX-License-Identifier: Apache-2.0
// A message whose bytes lie with gaps, for those who move it without: into slots and out of them,
// or by way of room for the whole, which networks and MPI are given in place of the program's
// buffer. gpu/packed_message.hpp is the same in memory of GPUs.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "datatype/copy.hpp"
#include "transport/message.hpp"

namespace penstock::plan {

class Packed {
 public:
  // `bytes`: of the send.
  Packed(const transport::Message& message, std::size_t bytes)
      : buffer_(static_cast<std::byte*>(message.buffer)),
        bytes_(bytes),
        segments_(message.segments()) {}

  // From the buffer, or into it. The worker's.
  void pack(std::byte* to) const noexcept {
    if (segments_)
      datatype::Walk(segments_->view()).pack(to, buffer_, 0, bytes_);
    else if (bytes_ > 0)
      std::memcpy(to, buffer_, bytes_);
  }
  void unpack(const std::byte* from) const noexcept {
    if (segments_)
      datatype::Walk(segments_->view()).unpack(buffer_, from, 0, bytes_);
    else if (bytes_ > 0)
      std::memcpy(buffer_, from, bytes_);
  }

  // ---- Those that are given a place of the whole
  // Made at the first call. A message without gaps needs none: its buffer is returned.
  std::byte* room() {
    if (!segments_) return buffer_;
    if (!room_) room_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    return room_.get();
  }
  bool has_room() const noexcept { return room_ != nullptr; }
  // A send packs before its start, a receive unpacks behind its wait; nothing is done without room.
  void before_start() const noexcept {
    if (room_) pack(room_.get());
  }
  void after_wait() const noexcept {
    if (room_) unpack(room_.get());
  }
  // Somebody may still use it who outlives us.
  void leave_room() noexcept { static_cast<void>(room_.release()); }

 private:
  std::byte* const buffer_;
  const std::size_t bytes_;
  std::shared_ptr<const transport::Segments> segments_;
  std::unique_ptr<std::byte[]> room_;
};

}  // namespace penstock::plan
