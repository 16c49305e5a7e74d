// SPDX-License-Identifier: Apache-2.0
#include "datatype/segments.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "datatype/numbers.hpp"

namespace penstock::datatype {

using base::Error;
using base::ErrorKind;

namespace {

[[noreturn]] void refuse_pieces() {
  throw Error(ErrorKind::resources,
              "its datatype lies in more than 2^24 pieces that no loop describes");
}

// Makes one segment of two that are sent one after the other, where a segment can say it.
bool join(Segment& first, const Segment& next) {
  if (first.count == 1 && next.count == 1 && sum(first.offset, first.bytes) == next.offset) {
    first.bytes = static_cast<std::uint64_t>(sum(first.bytes, next.bytes));
    return true;
  }
  if (first.bytes != next.bytes) return false;
  const std::int64_t step = first.count > 1  ? first.stride
                            : next.count > 1 ? next.stride
                                             : sum(next.offset, -first.offset);
  if (next.count > 1 && next.stride != step) return false;
  // Where the next run of the first one would lie.
  if (!is_product(first.count, step, sum(next.offset, -first.offset))) return false;
  first.stride = step;
  first.count += next.count;
  return true;
}

}  // namespace

void Segments::add(Segment segment) {
  if (segment.bytes == 0) return;
  overlap_ = {};
  segment.position = list_bytes_;
  list_bytes_ = static_cast<std::uint64_t>(sum(list_bytes_, product(segment.bytes, segment.count)));
  list_.push_back(segment);
  while (list_.size() > 1 && join(list_[list_.size() - 2], list_.back())) list_.pop_back();
  if (list_.size() > most) refuse_pieces();
}

void Segments::move_by(std::int64_t distance) {
  for (Segment& segment : list_) segment.offset = sum(segment.offset, distance);
}

void Segments::repeat(std::uint64_t count, std::int64_t stride) {
  if (count == 0) *this = Segments();
  if (count <= 1 || list_.empty()) return;
  overlap_ = {};
  product(bytes(), count);
  product(count - 1, stride);
  Segment& first = list_.front();
  if (repetitions_ > 1) {
    if (!is_product(repetitions_, extent_, stride)) {
      unroll();
      return repeat(count, stride);
    }
    repetitions_ *= count;
  } else if (list_.size() == 1 && first.count == 1) {
    if (stride == product(first.bytes, 1)) {
      first.bytes *= count;
    } else {
      first.count = count;
      first.stride = stride;
    }
    list_bytes_ *= count;
  } else if (list_.size() == 1 && is_product(first.count, first.stride, stride)) {
    first.count *= count;
    list_bytes_ *= count;
  } else {
    repetitions_ = count;
    extent_ = stride;
  }
}

void Segments::append(const Segments& other, std::int64_t distance) {
  if (other.list_.empty()) return;
  if (list_.empty()) {
    *this = other;
    return move_by(distance);
  }
  unroll();
  // What is looked at one by one, though it may become few.
  if (other.list_.size() > most / other.repetitions_) refuse_pieces();
  for (std::uint64_t i = 0; i < other.repetitions_; ++i) {
    const std::int64_t moved = sum(distance, product(i, other.extent_));
    for (Segment segment : other.list_) {
      segment.offset = sum(segment.offset, moved);
      add(segment);
    }
  }
}

void Segments::unroll() {
  if (repetitions_ == 1) return;
  if (list_.size() > most / repetitions_) refuse_pieces();
  Segments unrolled;
  for (std::uint64_t i = 0; i < repetitions_; ++i) {
    for (Segment segment : list_) {
      segment.offset = sum(segment.offset, product(i, extent_));
      unrolled.add(segment);
    }
  }
  *this = std::move(unrolled);
}

std::uint64_t Segments::bytes() const {
  return static_cast<std::uint64_t>(product(list_bytes_, repetitions_));
}

bool Segments::one_run() const noexcept {
  return list_.empty() || (repetitions_ == 1 && list_.size() == 1 && list_[0].count == 1);
}

std::uint64_t Segments::mean_run() const noexcept {
  std::uint64_t runs = 0;
  for (const Segment& segment : list_) runs += segment.count;
  return runs == 0 ? 0 : list_bytes_ / runs;
}

std::vector<std::byte> Segments::to_bytes() const {
  std::vector<std::byte> bytes(2 * sizeof(std::uint64_t) + list_.size() * sizeof(Segment));
  std::memcpy(bytes.data(), &repetitions_, sizeof repetitions_);
  std::memcpy(bytes.data() + sizeof repetitions_, &extent_, sizeof extent_);
  std::memcpy(bytes.data() + 2 * sizeof(std::uint64_t), list_.data(),
              list_.size() * sizeof(Segment));
  return bytes;
}

Segments Segments::from_bytes(std::span<const std::byte> bytes) {
  Segments segments;
  std::memcpy(&segments.repetitions_, bytes.data(), sizeof repetitions_);
  std::memcpy(&segments.extent_, bytes.data() + sizeof repetitions_, sizeof extent_);
  const auto list = bytes.subspan(2 * sizeof(std::uint64_t));
  segments.list_.resize(list.size() / sizeof(Segment));
  std::memcpy(segments.list_.data(), list.data(), segments.list_.size() * sizeof(Segment));
  for (const Segment& segment : segments.list_)
    segments.list_bytes_ += segment.bytes * segment.count;
  return segments;
}

namespace {

// Of all runs of a segment.
Span span_of(const Segment& segment) {
  const std::int64_t last = sum(segment.offset, product(segment.count - 1, segment.stride));
  return {std::min(segment.offset, last), sum(std::max(segment.offset, last), segment.bytes)};
}

std::uint64_t distance(std::int64_t step) noexcept {
  return step < 0 ? -static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
}

bool disjoint_runs(const Segment& segment) noexcept {
  return segment.count == 1 || distance(segment.stride) >= segment.bytes;
}

// Whether two loops over runs stay apart because the wider one steps over all of the other.
bool nested(const Segment& segment, std::uint64_t repetitions, std::int64_t extent) {
  struct Loop {
    std::uint64_t count, step;
  };
  Loop inner{segment.count, distance(segment.stride)}, outer{repetitions, distance(extent)};
  if (inner.step > outer.step) std::swap(inner, outer);
  const auto reach =
      static_cast<std::uint64_t>(sum(product(inner.count - 1, inner.step), segment.bytes));
  return (inner.count == 1 || inner.step >= segment.bytes) &&
         (outer.count == 1 || outer.step >= reach);
}

bool any_overlap(std::vector<Span>& spans) {
  const auto before = [](const Span& a, const Span& b) { return a.first < b.first; };
  // The segments of most datatypes are in order.
  if (!std::is_sorted(spans.begin(), spans.end(), before))
    std::sort(spans.begin(), spans.end(), before);
  const auto overlapping = std::adjacent_find(
      spans.begin(), spans.end(), [](const Span& a, const Span& b) { return b.first < a.end; });
  return overlapping != spans.end();
}

}  // namespace

Span Segments::span_of_list() const {
  if (list_.empty()) return {};
  Span all = span_of(list_[0]);
  for (const Segment& segment : list_) {
    const Span one = span_of(segment);
    all = {std::min(all.first, one.first), std::max(all.end, one.end)};
  }
  return all;
}

Span Segments::span() const {
  const Span all = span_of_list();
  const std::int64_t last = product(repetitions_ - 1, extent_);
  return {sum(all.first, std::min<std::int64_t>(last, 0)),
          sum(all.end, std::max<std::int64_t>(last, 0))};
}

bool Segments::has_overlap() const {
  // Usually the segments lie apart, each repetition behind the one before; or one segment's runs
  // lie between those of its repetitions, as in a transposed matrix. Only else are all runs looked
  // at.
  if (list_.size() == 1 && nested(list_[0], repetitions_, extent_)) return false;
  if (!std::all_of(list_.begin(), list_.end(), disjoint_runs)) return true;
  std::vector<Span> spans;
  std::uint64_t runs = 0;
  for (const Segment& segment : list_) {
    spans.push_back(span_of(segment));
    runs += segment.count;
  }
  const Span own = span_of_list();
  const bool apart = repetitions_ == 1 || distance(extent_) >= distance(own.end - own.first);
  if (apart && !any_overlap(spans)) return false;
  if (runs > most / repetitions_) return false;
  return any_overlap(spans = all_runs());
}

std::vector<Span> Segments::all_runs() const {
  std::vector<Span> spans;
  for (std::uint64_t repetition = 0; repetition < repetitions_; ++repetition) {
    for (const Segment& segment : list_) {
      for (std::uint64_t run = 0; run < segment.count; ++run) {
        const std::int64_t first =
            sum(segment.offset, sum(product(repetition, extent_), product(run, segment.stride)));
        spans.push_back({first, sum(first, segment.bytes)});
      }
    }
  }
  return spans;
}

}  // namespace penstock::datatype
