// SPDX-License-Identifier: Apache-2.0
// What a halo is asked for: whether it can be, and whether all ranks ask for the same.
#include <algorithm>
#include <limits>

#include "agreement.hpp"
#include "steering.hpp"

namespace penstock::halo {
namespace {

using detail::max_dimensions;

std::string extents_text(const Array& array, std::size_t dimensions) {
  std::string text;
  for (std::size_t d = 0; d < dimensions; ++d)
    text += (d == 0 ? "" : " x ") + std::to_string(array.extents[d]);
  return text;
}

std::string scalar_text(const Array& array) {
  static constexpr const char* names[] = {"bytes",  "int8",   "int16",  "int32", "int64", "uint8",
                                          "uint16", "uint32", "uint64", "float", "double"};
  return array.scalar == detail::Scalar::bytes ? std::to_string(array.element_bytes) + " bytes"
                                               : names[static_cast<std::size_t>(array.scalar)];
}

// The axes with more than one element, from the slowest to the fastest.
std::vector<std::size_t> order_of(const Array& array) {
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < array.extents.size(); ++axis) {
    if (array.extents[axis] > 1) order.push_back(axis);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return array.strides[a] > array.strides[b];
  });
  return order;
}

void check_strides(const Array& array, const std::string& name) {
  // No elements.
  if (std::find(array.extents.begin(), array.extents.end(), 0) != array.extents.end()) return;
  std::ptrdiff_t needed = 1;
  const std::vector<std::size_t> order = order_of(array);
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    if (array.strides[*axis] < needed) refuse(name + " has strides that let its elements overlap");
    needed += array.strides[*axis] * (array.extents[*axis] - 1);
  }
}

void check_array(const GridShape& grid, int width, const Array& array, const std::string& name) {
  if (array.extents[max_dimensions] < 0) refuse(name + " has a negative number of components");
  for (std::size_t d = 0; d < grid.dimensions(); ++d) {
    const std::ptrdiff_t expected = grid.block(d, grid.rank()) + 2 * std::ptrdiff_t{width};
    if (array.extents[d] == expected) continue;
    refuse(name + " has " + extents_text(array, grid.dimensions()) + " cells: along dimension " +
           std::to_string(d) + " it needs " + std::to_string(expected) + ", the block's " +
           std::to_string(expected - 2 * width) + " and " + std::to_string(width) +
           " ghosts on each side");
  }
  check_strides(array, name);
}

}  // namespace

void check_arguments(const GridShape& grid, const Options& options, std::span<const Array> arrays) {
  if (options.width < 0)
    refuse("a width of " + std::to_string(options.width) + " cells is negative");
  if (arrays.size() > detail::max_arrays) {
    refuse(std::to_string(arrays.size()) + " arrays in one exchange: at most " +
           std::to_string(detail::max_arrays));
  }
  for (std::size_t d = 0; d < grid.dimensions(); ++d) {
    if (grid.smallest_block(d) >= options.width) continue;
    refuse("a block of " + std::to_string(grid.smallest_block(d)) + " cells along dimension " +
           std::to_string(d) + " is narrower than the halo of " + std::to_string(options.width) +
           ": take a larger grid, fewer ranks or a narrower halo");
  }
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    check_array(grid, options.width, arrays[a], "array " + std::to_string(a));
  }
  constexpr std::uint64_t longest =
      std::uint64_t{std::numeric_limits<int>::max()} * sizeof(std::uint64_t);
  for (const Neighbour& neighbour : make_steering(grid, options, arrays).neighbours) {
    if (neighbour.bytes > longest) {
      refuse("a message of " + std::to_string(neighbour.bytes) + " bytes is longer than " +
             std::to_string(longest) + ": divide the arrays among several halos");
    }
  }
}

std::string description(const Options& options, std::span<const Array> arrays) {
  std::string text = "a halo of width " + std::to_string(options.width) +
                     (options.pattern == Pattern::node ? " (node" : " (face") +
                     (options.sends == Sends::ready ? ", ready sends)" : ", standard sends)");
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    text += std::string(a == 0 ? " of " : ", ") +
            std::to_string(arrays[a].extents[max_dimensions]) + " x " + scalar_text(arrays[a]);
    // Without ghost cells nothing is exchanged, and a block of one cell has an axis less than
    // others.
    if (options.width == 0) continue;
    text += " with axes in order ";
    for (const std::size_t axis : order_of(arrays[a]))
      text += axis == max_dimensions ? "c" : std::to_string(axis);
  }
  return text;
}

void check_arrays(std::span<const Array> expected, std::span<const Array> given) {
  if (given.size() != expected.size()) {
    refuse(std::to_string(given.size()) + " arrays were given to a halo of " +
           std::to_string(expected.size()));
  }
  for (std::size_t a = 0; a < given.size(); ++a) {
    const Array& array = given[a];
    if (array.scalar != expected[a].scalar || array.element_bytes != expected[a].element_bytes ||
        array.alignment != expected[a].alignment) {
      refuse("array " + std::to_string(a) + " has elements of " + scalar_text(array) +
             ", but had " + scalar_text(expected[a]) +
             " when the halo was made: give the arrays in the same order");
    }
    if (array.extents != expected[a].extents || array.strides != expected[a].strides) {
      refuse("array " + std::to_string(a) +
             " has other extents or strides than when the halo was made: give the arrays in the "
             "same order and shape");
    }
    const bool empty =
        std::find(array.extents.begin(), array.extents.end(), 0) != array.extents.end();
    if (array.data == nullptr && !empty)
      refuse("array " + std::to_string(a) + " is a null pointer");
  }
}

}  // namespace penstock::halo
