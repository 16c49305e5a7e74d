// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <penstock/halo.hpp>
#include <span>
#include <string>
#include <vector>

#include "table.hpp"

namespace penstock::halo {

using detail::Array;
using detail::Direction;
using detail::GridShape;

using Offset = std::array<std::ptrdiff_t, detail::max_dimensions>;  // each -1, 0 or 1

// A neighbour, and its message: of the same size in both ways, and at the same place in the memory
// of what goes out and of what comes in.
struct Neighbour {
  Offset offset;
  int rank;
  int id;           // base-3 digits of the offset
  int opposite_id;  // of the offset seen from there
  std::uint64_t first_byte = 0;
  std::uint64_t bytes = 0;
};

struct Table {
  std::vector<Box> boxes;
  std::vector<Part> parts;
  // Boxes of neighbour n are those from first_box[n] to first_box[n + 1]; empty where boxes belong
  // to several.
  std::vector<std::uint32_t> first_box;
};

// All that is fixed by grid, width, pattern and the arrays' shapes.
struct Steering {
  std::vector<Neighbour> neighbours;  // without those that have nothing to send
  std::uint64_t bytes = 0;            // of all messages that go out, and of all that come in
  std::array<Table, 2> pack;          // of a gather, of a scatter
  std::array<Table, 2> unpack;
};

Steering make_steering(const GridShape& grid, const Options& options,
                       std::span<const Array> arrays);

// Throws what is wrong with the arguments, if anything.
void check_arguments(const GridShape& grid, const Options& options, std::span<const Array> arrays);

// What all ranks must have in common.
std::string description(const Options& options, std::span<const Array> arrays);

// Throws unless `given` has the shapes and types of `expected`, in their order.
void check_arrays(std::span<const Array> expected, std::span<const Array> given);

}  // namespace penstock::halo
