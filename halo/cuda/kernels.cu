// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include "../reduce.hpp"

namespace penstock::halo {
namespace {

constexpr unsigned threads = 256;

struct Place {
  std::uint64_t at[axes];
};

template <class Number>
__device__ Place split(const Box& box, Number element) {
  Place place;
  for (int axis = axes - 1; axis > 0; --axis) {
    const auto extent = static_cast<Number>(box.extents[axis]);
    const Number rest = element / extent;
    place.at[axis] = element - rest * extent;
    element = rest;
  }
  place.at[0] = element;
  return place;
}

// Which element this is along each axis. Division of 64 bits is slow.
__device__ Place place_of(const Box& box, std::uint64_t element) {
  return box.elements <= 0xffffffffu ? split(box, static_cast<std::uint32_t>(element))
                                     : split(box, element);
}

__device__ std::int64_t distance(const Place& place, const std::int64_t (&strides)[axes]) {
  std::int64_t sum = 0;
  for (int axis = 0; axis < axes; ++axis)
    sum += static_cast<std::int64_t>(place.at[axis]) * strides[axis];
  return sum;
}

template <class Unit>
__device__ void copy_units(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  for (std::uint32_t i = 0; i < bytes / sizeof(Unit); ++i)
    reinterpret_cast<Unit*>(to)[i] = reinterpret_cast<const Unit*>(from)[i];
}

// In accesses as large as the element's type allows; the messages hold it as aligned as the array
// does.
__device__ void copy_element(const Box& box, std::byte* to, const std::byte* from) {
  switch (box.alignment) {
    case 1:
      return copy_units<std::uint8_t>(to, from, box.element_bytes);
    case 2:
      return copy_units<std::uint16_t>(to, from, box.element_bytes);
    case 4:
      return copy_units<std::uint32_t>(to, from, box.element_bytes);
    case 8:
      return copy_units<std::uint64_t>(to, from, box.element_bytes);
    default:
      return copy_units<uint4>(to, from, box.element_bytes);
  }
}

template <Reduction reduction, class T>
__device__ void reduce_element(const Box& box, const Part* parts, const Place& place, std::byte* to,
                               const std::byte* messages) {
  T held = *reinterpret_cast<const T*>(to);
  for (std::uint32_t i = 0; i < box.parts; ++i) {
    const std::byte* from = messages + parts[i].offset + distance(place, parts[i].strides);
    held = reduce<reduction>(held, *reinterpret_cast<const T*>(from));
  }
  *reinterpret_cast<T*>(to) = held;
}

template <Reduction reduction>
__device__ void unpack_element(const Box& box, const Part* parts, const Place& place, std::byte* to,
                               const std::byte* messages) {
  using detail::Scalar;
  if constexpr (reduction == Reduction::replace) {
    const Part& last = parts[box.parts - 1];
    return copy_element(box, to, messages + last.offset + distance(place, last.strides));
  } else {
    switch (box.scalar) {
      case Scalar::i8:
        return reduce_element<reduction, std::int8_t>(box, parts, place, to, messages);
      case Scalar::i16:
        return reduce_element<reduction, std::int16_t>(box, parts, place, to, messages);
      case Scalar::i32:
        return reduce_element<reduction, std::int32_t>(box, parts, place, to, messages);
      case Scalar::i64:
        return reduce_element<reduction, std::int64_t>(box, parts, place, to, messages);
      case Scalar::u8:
        return reduce_element<reduction, std::uint8_t>(box, parts, place, to, messages);
      case Scalar::u16:
        return reduce_element<reduction, std::uint16_t>(box, parts, place, to, messages);
      case Scalar::u32:
        return reduce_element<reduction, std::uint32_t>(box, parts, place, to, messages);
      case Scalar::u64:
        return reduce_element<reduction, std::uint64_t>(box, parts, place, to, messages);
      case Scalar::f32:
        return reduce_element<reduction, float>(box, parts, place, to, messages);
      case Scalar::f64:
        return reduce_element<reduction, double>(box, parts, place, to, messages);
      case Scalar::bytes:
        return;  // refused where the call is compiled
    }
  }
}

// Calls work(box, place) for this thread's elements of this block's chunk.
template <class Work>
__device__ void for_each_element(const DeviceTable& table, unsigned first_chunk, Work work) {
  const Chunk chunk = table.chunks[first_chunk + blockIdx.x];
  const Box& box = table.boxes[chunk.box];
  const std::uint64_t left = box.elements - chunk.first;
  const std::uint64_t end = chunk.first + (left < chunk_elements ? left : chunk_elements);
  for (std::uint64_t i = chunk.first + threadIdx.x; i < end; i += threads)
    work(box, place_of(box, i));
}

__global__ void __launch_bounds__(threads)
    pack(DeviceTable table, unsigned first_chunk, Addresses addresses) {
  for_each_element(table, first_chunk, [&](const Box& box, const Place& place) {
    const Part& part = table.parts[box.first_part];
    copy_element(box, addresses.messages + part.offset + distance(place, part.strides),
                 addresses.arrays[box.array] + box.offset + distance(place, box.strides));
  });
}

template <Reduction reduction>
__global__ void __launch_bounds__(threads)
    unpack(DeviceTable table, unsigned first_chunk, Addresses addresses) {
  for_each_element(table, first_chunk, [&](const Box& box, const Place& place) {
    std::byte* to = addresses.arrays[box.array] + box.offset + distance(place, box.strides);
    unpack_element<reduction>(box, table.parts + box.first_part, place, to, addresses.messages);
  });
}

using Kernel = void (*)(DeviceTable, unsigned, Addresses);

Kernel unpack_kernel(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return &unpack<Reduction::sum>;
    case Reduction::min:
      return &unpack<Reduction::min>;
    case Reduction::max:
      return &unpack<Reduction::max>;
    default:
      return &unpack<Reduction::replace>;
  }
}

cudaError_t launch(Kernel kernel, cudaStream_t stream, const DeviceTable& table, ChunkRange range,
                   const Addresses& addresses) {
  if (range.count == 0) return cudaSuccess;
  kernel<<<range.count, threads, 0, stream>>>(table, range.first, addresses);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_pack(cudaStream_t stream, const DeviceTable& table, ChunkRange range,
                        const Addresses& addresses) {
  return launch(&pack, stream, table, range, addresses);
}

cudaError_t launch_unpack(cudaStream_t stream, const DeviceTable& table, ChunkRange range,
                          const Addresses& addresses, Reduction reduction) {
  return launch(unpack_kernel(reduction), stream, table, range, addresses);
}

cudaError_t load_kernels() {
  cudaFuncAttributes attributes;
  cudaError_t code = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&pack));
  for (const Reduction reduction :
       {Reduction::replace, Reduction::sum, Reduction::min, Reduction::max}) {
    if (code == cudaSuccess) {
      code = cudaFuncGetAttributes(&attributes,
                                   reinterpret_cast<const void*>(unpack_kernel(reduction)));
    }
  }
  return code;
}

}  // namespace penstock::halo
