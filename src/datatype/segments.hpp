// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a message lie in its buffer, in the order in which MPI sends them. Host loops
// and kernels read the same description, so a segment is plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/known_answer.hpp"

namespace penstock::datatype {

// `count` runs of `bytes` bytes without a gap, one every `stride` bytes.
struct Segment {
  std::int64_t offset = 0;  // of the first run, from the buffer's address
  std::uint64_t bytes = 0;
  std::uint64_t count = 1;
  std::int64_t stride = 0;
  std::uint64_t position = 0;  // how many bytes are sent before it

  bool operator==(const Segment&) const = default;
};

// What loops and kernels are given: a list of segments, and again every `extent` bytes.
struct SegmentView {
  const Segment* list = nullptr;
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;  // of the list, once
  std::int64_t extent = 0;

  // A view without a list is of bytes without gaps.
  bool has_gaps() const noexcept { return list != nullptr; }
};

// The addresses from `first` up to but without `end`, from the buffer's address on.
struct Span {
  std::int64_t first = 0, end = 0;
};

// A list of segments that is repeated. Vectors, subarrays of up to three dimensions and arrays of
// structures take one list for all repetitions; what is more irregular takes a segment for what no
// loop describes. All that adds up numbers throws base::Error(argument) where they do not fit, and
// base::Error(resources) where there are too many segments.
class Segments {
 public:
  static constexpr std::size_t most = std::size_t{1} << 24;  // of the list: 640 MiB

  Segments() = default;  // no bytes
  explicit Segments(std::uint64_t bytes) { add({0, bytes, 1, 0, 0}); }

  void move_by(std::int64_t distance);
  void repeat(std::uint64_t count, std::int64_t stride);
  // `other`, moved by so much, is sent behind what is here.
  void append(const Segments& other, std::int64_t distance);

  std::uint64_t bytes() const;
  bool one_run() const noexcept;  // or no bytes at all
  Span span() const;
  // Whether a byte of the buffer belongs to two runs, as far as 2^24 runs can be looked at where
  // no rule tells. The answer is kept with a list, which all requests share that have an equal one.
  bool overlap() const {
    return overlap_.get([this] { return has_overlap(); });
  }
  // The runs' mean length.
  std::uint64_t mean_run() const noexcept;

  // For another process of the same library.
  std::vector<std::byte> to_bytes() const;
  static Segments from_bytes(std::span<const std::byte> bytes);

  bool operator==(const Segments&) const = default;

  std::span<const Segment> list() const noexcept { return list_; }
  std::uint64_t repetitions() const noexcept { return repetitions_; }
  SegmentView view() const noexcept { return {list_.data(), list_.size(), list_bytes_, extent_}; }

 private:
  void add(Segment segment);
  void unroll();
  bool has_overlap() const;
  Span span_of_list() const;  // of one repetition
  std::vector<Span> all_runs() const;

  std::vector<Segment> list_;
  std::uint64_t list_bytes_ = 0;
  std::uint64_t repetitions_ = 1;
  std::int64_t extent_ = 0;
  mutable base::KnownAnswer overlap_;
};

}  // namespace penstock::datatype
