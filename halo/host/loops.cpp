// SPDX-License-Identifier: Apache-2.0
#include "loops.hpp"

#include <array>
#include <utility>

#include "../reduce.hpp"

namespace penstock::halo {
namespace {

struct Side {
  std::byte* data;
  const std::int64_t* strides;
};

// A run of elements along one axis.
struct Run {
  std::byte* to;
  std::int64_t to_step;
  const std::byte* from;
  std::int64_t from_step;
  std::uint64_t length;
};

// Calls `run` for all runs of the box. They go along the fastest axis, unless that is so short that
// another one is better: the column of a row-major array is one run.
template <class Work>
void for_each_run(const Box& box, const Side& to, const Side& from, Work work) {
  std::array<int, axes> order{0, 1, 2, 3};
  constexpr std::uint64_t short_run = 8;
  for (int axis = 0; axis < axes - 1; ++axis) {
    const std::uint64_t fastest = box.extents[order[axes - 1]];
    if (fastest < short_run && box.extents[axis] > fastest)
      std::swap(order[static_cast<std::size_t>(axis)], order[axes - 1]);
  }
  const auto [a, b, c, d] = order;
  for (std::uint64_t i = 0; i < box.extents[a]; ++i) {
    for (std::uint64_t j = 0; j < box.extents[b]; ++j) {
      for (std::uint64_t k = 0; k < box.extents[c]; ++k) {
        const auto at = [&, a = a, b = b, c = c](const Side& side) {
          return side.data + static_cast<std::int64_t>(i) * side.strides[a] +
                 static_cast<std::int64_t>(j) * side.strides[b] +
                 static_cast<std::int64_t>(k) * side.strides[c];
        };
        work(Run{at(to), to.strides[d], at(from), from.strides[d], box.extents[d]});
      }
    }
  }
}

// Size 0: of any size.
template <std::size_t size>
void copy_run(const Run& run, std::size_t bytes) {
  if constexpr (size != 0) bytes = size;
  const auto dense = static_cast<std::int64_t>(bytes);
  if (run.to_step == dense && run.from_step == dense) {
    std::memcpy(run.to, run.from, run.length * bytes);
    return;
  }
  std::byte* to = run.to;
  const std::byte* from = run.from;
  for (std::uint64_t i = 0; i < run.length; ++i, to += run.to_step, from += run.from_step)
    std::memcpy(to, from, bytes);
}

void copy(const Box& box, const Side& to, const Side& from) {
  const std::size_t bytes = box.element_bytes;
  switch (bytes) {
    case 1:
      return for_each_run(box, to, from, [](const Run& run) { copy_run<1>(run, 1); });
    case 2:
      return for_each_run(box, to, from, [](const Run& run) { copy_run<2>(run, 2); });
    case 4:
      return for_each_run(box, to, from, [](const Run& run) { copy_run<4>(run, 4); });
    case 8:
      return for_each_run(box, to, from, [](const Run& run) { copy_run<8>(run, 8); });
    default:
      return for_each_run(box, to, from, [bytes](const Run& run) { copy_run<0>(run, bytes); });
  }
}

template <Reduction reduction, class T>
void reduce_run(const Run& run) {
  std::byte* to = run.to;
  const std::byte* from = run.from;
  for (std::uint64_t i = 0; i < run.length; ++i, to += run.to_step, from += run.from_step) {
    store(to, reduce<reduction>(load<T>(to), load<T>(from)));
  }
}

template <Reduction reduction>
void reduce_into(const Box& box, const Side& to, const Side& from) {
  const auto with = [&]<class T>(T) { for_each_run(box, to, from, &reduce_run<reduction, T>); };
  using detail::Scalar;
  switch (box.scalar) {
    case Scalar::i8:
      return with(std::int8_t{});
    case Scalar::i16:
      return with(std::int16_t{});
    case Scalar::i32:
      return with(std::int32_t{});
    case Scalar::i64:
      return with(std::int64_t{});
    case Scalar::u8:
      return with(std::uint8_t{});
    case Scalar::u16:
      return with(std::uint16_t{});
    case Scalar::u32:
      return with(std::uint32_t{});
    case Scalar::u64:
      return with(std::uint64_t{});
    case Scalar::f32:
      return with(float{});
    case Scalar::f64:
      return with(double{});
    case Scalar::bytes:
      return;  // refused where the call is compiled
  }
}

}  // namespace

void pack_box(const Box& box, const Part& part, const std::byte* array, std::byte* messages) {
  // The array is only read: what is copied from has a const pointer in the end.
  copy(box, {messages + part.offset, part.strides},
       {const_cast<std::byte*>(array) + box.offset, box.strides});
}

void unpack_box(const Box& box, const Part* parts, Reduction reduction, std::byte* array,
                const std::byte* messages) {
  const Side to{array + box.offset, box.strides};
  const auto side = [&](const Part& part) {
    return Side{const_cast<std::byte*>(messages) + part.offset, part.strides};
  };
  if (reduction == Reduction::replace) return copy(box, to, side(parts[box.parts - 1]));
  for (std::uint32_t i = 0; i < box.parts; ++i) {
    if (reduction == Reduction::sum) reduce_into<Reduction::sum>(box, to, side(parts[i]));
    if (reduction == Reduction::min) reduce_into<Reduction::min>(box, to, side(parts[i]));
    if (reduction == Reduction::max) reduce_into<Reduction::max>(box, to, side(parts[i]));
  }
}

}  // namespace penstock::halo
