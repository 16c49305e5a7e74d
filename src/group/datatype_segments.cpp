// SPDX-License-Identifier: Apache-2.0
#include "group/datatype_segments.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "datatype/numbers.hpp"
#include "group/mpi_check.hpp"

namespace penstock::group {

using datatype::product;
using datatype::Segments;

namespace {

using Numbers = std::span<const MPI_Count>;
using Flat = std::optional<Segments>;

std::uint64_t number(MPI_Count count) {
  return static_cast<std::uint64_t>(count);
}

Segments repeated(Segments segments, MPI_Count count, MPI_Count stride) {
  segments.repeat(number(count), stride);
  return segments;
}

struct ShortAndInt {  // what MPI_SHORT_INT stands for
  short first;
  int second;
};

// ---- Arrays of one element, with its extent between neighbours

// The stride counts in `unit` bytes, and is not looked at where there is one block.
Segments vector(const Segments& element, MPI_Count extent, MPI_Count count, MPI_Count length,
                MPI_Count stride, MPI_Count unit) {
  return repeated(repeated(element, length, extent), count, count > 1 ? product(stride, unit) : 0);
}

// Blocks of `lengths` elements at `distances`, each so many `units` away.
Segments blocks(const Segments& element, MPI_Count extent, Numbers lengths, Numbers distances,
                MPI_Count unit) {
  Segments all;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const MPI_Count length = lengths.size() == 1 ? lengths[0] : lengths[i];
    if (length == 0) continue;  // wherever it lies
    all.append(repeated(element, length, extent), product(distances[i], unit));
  }
  return all;
}

// The dimensions of an array from the one whose neighbours lie closest: as the numbers say in
// Fortran's order, from the last in C's.
std::vector<std::size_t> closest_first(std::size_t dimensions, MPI_Count order) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < dimensions; ++i)
    result.push_back(order == MPI_ORDER_C ? dimensions - 1 - i : i);
  return result;
}

Segments subarray(Segments part, MPI_Count extent, Numbers numbers) {
  const auto dimensions = static_cast<std::size_t>(numbers[0]);
  const Numbers sizes = numbers.subspan(1, dimensions);
  const Numbers subsizes = numbers.subspan(1 + dimensions, dimensions);
  const Numbers starts = numbers.subspan(1 + 2 * dimensions, dimensions);
  MPI_Count stride = extent;
  for (const std::size_t i : closest_first(dimensions, numbers.back())) {
    part.repeat(number(subsizes[i]), stride);
    part.move_by(product(stride, starts[i]));
    stride = product(stride, sizes[i]);
  }
  return part;
}

// What of one dimension lies with one process: blocks of `length`, the first at `start`, dealt out
// to `processes` in turn.
struct Dealt {
  MPI_Count size = 0, start = 0, length = 0, processes = 1;
};

Dealt dealt(MPI_Count size, MPI_Count distribution, MPI_Count argument, MPI_Count processes,
            MPI_Count process) {
  if (distribution == MPI_DISTRIBUTE_NONE) return {size, 0, size, 1};
  MPI_Count length = argument;
  if (argument == MPI_DISTRIBUTE_DFLT_DARG)
    length = distribution == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
  return {size, product(process, length), length, processes};
}

Segments dealt_out(const Segments& element, const Dealt& dealt, MPI_Count stride) {
  const MPI_Count turn = product(dealt.length, dealt.processes);
  Segments all;
  if (dealt.start >= dealt.size) return all;
  const MPI_Count whole = (dealt.size - dealt.start) / turn +
                          ((dealt.size - dealt.start) % turn >= dealt.length ? 1 : 0);
  const MPI_Count behind = dealt.start + whole * turn;  // where the next block begins
  all.append(vector(element, stride, whole, dealt.length, turn, stride),
             product(stride, dealt.start));
  if (behind < dealt.size)
    all.append(repeated(element, dealt.size - behind, stride), product(stride, behind));
  return all;
}

// The numbers: processes, ours, dimensions, sizes, distributions, arguments, processes of each
// dimension, order.
Segments darray(Segments part, MPI_Count extent, Numbers numbers) {
  const auto dimensions = static_cast<std::size_t>(numbers[2]);
  const auto of = [&](std::size_t which, std::size_t dimension) {
    return numbers[3 + which * dimensions + dimension];
  };
  std::vector<MPI_Count> places(dimensions);  // ours, in a grid whose last dimension counts first
  MPI_Count rest = numbers[1];
  for (std::size_t i = dimensions; i-- > 0;) {
    places[i] = rest % of(3, i);
    rest /= of(3, i);
  }
  MPI_Count stride = extent;
  for (const std::size_t i : closest_first(dimensions, numbers.back())) {
    part = dealt_out(part, dealt(of(0, i), of(1, i), of(2, i), of(3, i), places[i]), stride);
    stride = product(stride, of(0, i));
  }
  return part;
}

// ---- Any datatype

// A datatype that has no elements may be made of any.
bool has_elements(int combiner, Numbers n) {
  switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS:
      return n[0] != 0;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
      return n[0] != 0 && n[1] != 0;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED: {
      const Numbers lengths = n.subspan(1, static_cast<std::size_t>(n[0]));
      return std::any_of(lengths.begin(), lengths.end(), [](MPI_Count each) { return each != 0; });
    }
    default:
      return true;
  }
}

const Segments* segments_of(const DatatypeShape& part) {
  if (!part.refusal.empty()) throw base::Error(base::ErrorKind::argument, part.refusal);
  return part.segments.get();
}

Flat structure(Numbers numbers, ShapeParts parts) {
  Segments all;
  const auto count = static_cast<std::size_t>(numbers[0]);
  for (std::size_t i = 0; i < count; ++i) {
    if (numbers[1 + i] == 0) continue;
    const Segments* const element = segments_of(*parts[i]);
    if (element == nullptr) return std::nullopt;
    all.append(repeated(*element, numbers[1 + i], parts[i]->extent), numbers[1 + count + i]);
  }
  return all;
}

}  // namespace

std::optional<Segments> segments_of_predefined(MPI_Datatype datatype) {
  MPI_Count size = 0, true_lower_bound = 0, true_extent = 0;
  check_mpi(PMPI_Type_size_x(datatype, &size), "MPI_Type_size_x");
  check_mpi(PMPI_Type_get_true_extent_x(datatype, &true_lower_bound, &true_extent),
            "MPI_Type_get_true_extent_x");
  if (size == 0) return Segments();
  Segments segments;
  if (size == true_extent) {
    segments = Segments(number(size));
  } else if (datatype == MPI_SHORT_INT) {
    segments = Segments(sizeof(short));
    segments.append(Segments(sizeof(int)), offsetof(ShortAndInt, second));
  } else {
    return std::nullopt;
  }
  segments.move_by(true_lower_bound);
  return segments;
}

std::optional<Segments> segments_of_derived(const DatatypeContents& contents, ShapeParts parts) {
  const Numbers n = contents.numbers();
  if (contents.combiner() == MPI_COMBINER_STRUCT) return structure(n, parts);
  if (parts.empty()) return std::nullopt;
  if (!has_elements(contents.combiner(), n)) return Segments();
  const Segments* const element = segments_of(*parts.front());
  if (element == nullptr) return std::nullopt;
  const MPI_Count extent = parts.front()->extent;
  const std::size_t count = n.empty() ? 0 : static_cast<std::size_t>(n[0]);
  switch (contents.combiner()) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return *element;
    case MPI_COMBINER_CONTIGUOUS:
      return repeated(*element, n[0], extent);
    case MPI_COMBINER_VECTOR:
      return vector(*element, extent, n[0], n[1], n[2], extent);
    case MPI_COMBINER_HVECTOR:
      return vector(*element, extent, n[0], n[1], n[2], 1);
    case MPI_COMBINER_INDEXED:
      return blocks(*element, extent, n.subspan(1, count), n.subspan(1 + count, count), extent);
    case MPI_COMBINER_HINDEXED:
      return blocks(*element, extent, n.subspan(1, count), n.subspan(1 + count, count), 1);
    case MPI_COMBINER_INDEXED_BLOCK:
      return blocks(*element, extent, n.subspan(1, 1), n.subspan(2, count), extent);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return blocks(*element, extent, n.subspan(1, 1), n.subspan(2, count), 1);
    case MPI_COMBINER_SUBARRAY:
      return subarray(*element, extent, n);
    case MPI_COMBINER_DARRAY:
      return darray(*element, extent, n);
    default:
      return std::nullopt;
  }
}

}  // namespace penstock::group
