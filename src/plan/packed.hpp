// SPDX-License-Identifier: Apache-2.0
// A message whose bytes lie with gaps, for those who move it without: into slots and out of them,
// or by a copy of the whole that networks and MPI are given in place of the program's buffer.
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

  // The message leaves the buffer for `to`, or comes from `from`. The worker's.
  void gather(std::byte* to) const noexcept {
    if (segments_)
      datatype::Walk(segments_->view()).pack(to, buffer_, 0, bytes_);
    else if (bytes_ > 0)
      std::memcpy(to, buffer_, bytes_);
  }
  void scatter(const std::byte* from) const noexcept {
    if (segments_)
      datatype::Walk(segments_->view()).unpack(buffer_, from, 0, bytes_);
    else if (bytes_ > 0)
      std::memcpy(buffer_, from, bytes_);
  }

  // ---- Those that are given a place of the whole
  // Where the bytes lie without gaps: in the buffer, or in a copy, which this makes room for.
  std::byte* place() {
    if (!segments_) return buffer_;
    if (!copy_) copy_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    return copy_.get();
  }
  bool copied() const noexcept { return copy_ != nullptr; }
  void to_copy() const noexcept {
    if (copy_) gather(copy_.get());
  }
  void from_copy() const noexcept {
    if (copy_) scatter(copy_.get());
  }
  // Somebody may still use it who outlives us.
  void leave_copy() noexcept { static_cast<void>(copy_.release()); }

 private:
  std::byte* const buffer_;
  const std::size_t bytes_;
  std::shared_ptr<const transport::Segments> segments_;
  std::unique_ptr<std::byte[]> copy_;
};

}  // namespace penstock::plan
