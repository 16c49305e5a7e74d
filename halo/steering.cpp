// SPDX-License-Identifier: Apache-2.0
#include "steering.hpp"

#include <algorithm>

namespace penstock::halo {
namespace {

using detail::max_dimensions;

// Each array's part of a message is aligned to this: kernels copy 16 bytes at once.
constexpr std::uint64_t section_alignment = 16;
// It keeps two messages from sharing a line of memory.
constexpr std::uint64_t message_alignment = 256;
constexpr std::size_t components = max_dimensions;  // the axis of components
using Axes = std::array<std::size_t, axes>;

std::uint64_t align(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

// The axes from the slowest to the fastest in the array's memory; those that have one element do
// not matter, and come first.
Axes memory_order(const Array& array) {
  Axes order{0, 1, 2, 3};
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto step = [&](std::size_t axis) {
      return array.extents[axis] == 1 ? PTRDIFF_MAX : array.strides[axis];
    };
    return step(a) > step(b);
  });
  return order;
}

// A range of cells; the components are all of them.
struct Region {
  std::array<std::ptrdiff_t, axes> begin{};
  std::array<std::ptrdiff_t, axes> extent{1, 1, 1, 1};
};

// An array's part of a message: dense, in the order of the array's memory.
struct Section {
  std::uint64_t offset = 0;
  std::array<std::int64_t, axes> strides{};
  std::uint64_t bytes = 0;
};

Section make_section(const Array& array, const Region& region, std::uint64_t offset) {
  Section section{offset, {}, array.element_bytes};
  const Axes order = memory_order(array);
  for (std::size_t i = axes; i-- > 0;) {
    section.strides[order[i]] = static_cast<std::int64_t>(section.bytes);
    section.bytes *= static_cast<std::uint64_t>(region.extent[order[i]]);
  }
  return section;
}

// Along one dimension: cells that go to the neighbours at -1 (low) and 1 (high), to both, or to
// none.
struct Segment {
  std::ptrdiff_t begin;
  std::ptrdiff_t extent;
  bool low;
  bool high;
};

class Builder {
 public:
  Builder(const GridShape& grid, const Options& options, std::span<const Array> arrays)
      : grid_(grid), width_(options.width), pattern_(options.pattern), arrays_(arrays) {
    for (std::size_t d = 0; d < grid.dimensions(); ++d) block_[d] = grid.block(d, grid.rank());
  }

  Steering build() {
    add_neighbours();
    // A gather sends own cells and receives ghosts, a scatter the other way round.
    add_regions(steering_.pack[0], &Builder::owned);
    add_regions(steering_.unpack[0], &Builder::ghosts);
    add_regions(steering_.pack[1], &Builder::ghosts);
    add_zones(steering_.unpack[1]);
    return std::move(steering_);
  }

 private:
  using Choose = Region (Builder::*)(const Offset&, const Array&) const;

  // In the order of the offsets, from -1 to 1, the last dimension fastest.
  void add_neighbours() {
    const std::ptrdiff_t last = grid_.dimensions() == 3 ? 1 : 0;
    for (std::ptrdiff_t i = -1; i <= 1; ++i) {
      for (std::ptrdiff_t j = -1; j <= 1; ++j) {
        for (std::ptrdiff_t k = -last; k <= last; ++k) add_neighbour({i, j, k});
      }
    }
  }

  void add_neighbour(const Offset& offset) {
    const auto faces =
        std::count_if(offset.begin(), offset.end(), [](std::ptrdiff_t step) { return step != 0; });
    if (faces == 0 || (pattern_ == Pattern::face && faces > 1)) return;
    const int rank = grid_.neighbour(offset.data(), grid_.rank());
    if (rank == MPI_PROC_NULL) return;
    int id = 0;
    int opposite_id = 0;
    for (const std::ptrdiff_t step : offset) {
      id = id * 3 + static_cast<int>(step + 1);
      opposite_id = opposite_id * 3 + static_cast<int>(1 - step);
    }
    Neighbour neighbour{offset, rank, id, opposite_id, steering_.bytes, 0};
    std::vector<Section> sections = sections_of(neighbour);
    if (neighbour.bytes == 0) return;
    steering_.bytes = align(neighbour.first_byte + neighbour.bytes, message_alignment);
    steering_.neighbours.push_back(neighbour);
    sections_.push_back(std::move(sections));
  }

  std::vector<Section> sections_of(Neighbour& neighbour) const {
    std::vector<Section> sections;
    for (const Array& array : arrays_) {
      const std::uint64_t offset = align(neighbour.bytes, section_alignment);
      sections.push_back(
          make_section(array, owned(neighbour.offset, array), neighbour.first_byte + offset));
      if (sections.back().bytes > 0) neighbour.bytes = offset + sections.back().bytes;
    }
    // Messages beyond 2 GiB are counted in words.
    neighbour.bytes = align(neighbour.bytes, sizeof(std::uint64_t));
    return sections;
  }

  Region cells_of(const Array& array) const {
    Region region;
    region.extent[components] = array.extents[components];
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
      region.begin[d] = width_;
      region.extent[d] = block_[d];
    }
    return region;
  }

  Region owned(const Offset& offset, const Array& array) const {
    Region region = cells_of(array);
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
      if (offset[d] == 0) continue;
      region.begin[d] = offset[d] < 0 ? width_ : block_[d];
      region.extent[d] = width_;
    }
    return region;
  }

  Region ghosts(const Offset& offset, const Array& array) const {
    Region region = cells_of(array);
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
      if (offset[d] == 0) continue;
      region.begin[d] = offset[d] < 0 ? 0 : width_ + block_[d];
      region.extent[d] = width_;
    }
    return region;
  }

  void add_regions(Table& table, Choose choose) {
    for (std::size_t n = 0; n < sections_.size(); ++n) {
      table.first_box.push_back(static_cast<std::uint32_t>(table.boxes.size()));
      for (std::size_t a = 0; a < arrays_.size(); ++a) {
        const Region region = (this->*choose)(steering_.neighbours[n].offset, arrays_[a]);
        add_box(table, a, region, {{n, region.begin}});
      }
    }
    table.first_box.push_back(static_cast<std::uint32_t>(table.boxes.size()));
  }

  // Own cells near the block's edges may have contributions from several neighbours. They are
  // divided into zones whose cells have the same ones, so that each cell is written once, with all
  // its contributions in one order.
  void add_zones(Table& table) {
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      for (const Segment& i : segments(0)) {
        for (const Segment& j : segments(1)) {
          for (const Segment& k : segments(2)) add_zone(table, a, {i, j, k});
        }
      }
    }
  }

  std::vector<Segment> segments(std::size_t d) const {
    if (d >= grid_.dimensions()) return {{0, 1, false, false}};
    std::vector<std::ptrdiff_t> bounds{width_, 2 * width_, block_[d], block_[d] + width_};
    std::sort(bounds.begin(), bounds.end());
    std::vector<Segment> found;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      if (bounds[i] == bounds[i + 1]) continue;
      found.push_back(
          {bounds[i], bounds[i + 1] - bounds[i], bounds[i] < 2 * width_, bounds[i] >= block_[d]});
    }
    return found;
  }

  void add_zone(Table& table, std::size_t a, const std::array<Segment, max_dimensions>& zone) {
    Region region = cells_of(arrays_[a]);
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
      region.begin[d] = zone[d].begin;
      region.extent[d] = zone[d].extent;
    }
    std::vector<Contribution> contributions;
    for (std::size_t n = 0; n < sections_.size(); ++n) {
      const Offset& offset = steering_.neighbours[n].offset;
      bool reaches = true;
      for (std::size_t d = 0; d < max_dimensions; ++d) {
        reaches = reaches && (offset[d] == 0 || (offset[d] < 0 ? zone[d].low : zone[d].high));
      }
      if (reaches) contributions.push_back({n, owned(offset, arrays_[a]).begin});
    }
    if (!contributions.empty()) add_box(table, a, region, contributions);
  }

  // A neighbour's message, and where the region begins that it holds.
  struct Contribution {
    std::size_t neighbour;
    std::array<std::ptrdiff_t, axes> begin;
  };

  void add_box(Table& table, std::size_t a, const Region& region,
               const std::vector<Contribution>& contributions) const {
    const Array& array = arrays_[a];
    const Axes order = memory_order(array);
    Box box{};
    box.elements = 1;
    box.array = static_cast<std::uint32_t>(a);
    box.element_bytes = array.element_bytes;
    box.alignment = array.alignment;
    box.scalar = array.scalar;
    box.first_part = static_cast<std::uint32_t>(table.parts.size());
    box.parts = static_cast<std::uint32_t>(contributions.size());
    for (std::size_t i = 0; i < axes; ++i) {
      const auto stride = static_cast<std::int64_t>(array.strides[order[i]]) * array.element_bytes;
      box.offset += region.begin[order[i]] * stride;
      box.strides[i] = stride;
      box.extents[i] = static_cast<std::uint64_t>(region.extent[order[i]]);
      box.elements *= box.extents[i];
    }
    if (box.elements == 0) return;
    for (const Contribution& contribution : contributions) {
      const Section& section = sections_[contribution.neighbour][a];
      Part part{section.offset, {}};
      for (std::size_t i = 0; i < axes; ++i) {
        part.strides[i] = section.strides[order[i]];
        part.offset += static_cast<std::uint64_t>(
            (region.begin[order[i]] - contribution.begin[order[i]]) * part.strides[i]);
      }
      table.parts.push_back(part);
    }
    table.boxes.push_back(box);
  }

  const GridShape& grid_;
  std::ptrdiff_t width_;
  Pattern pattern_;
  std::span<const Array> arrays_;
  std::array<std::ptrdiff_t, max_dimensions> block_{1, 1, 1};
  Steering steering_;
  std::vector<std::vector<Section>> sections_;  // of each neighbour, of each array
};

}  // namespace

Steering make_steering(const GridShape& grid, const Options& options,
                       std::span<const Array> arrays) {
  return Builder(grid, options, arrays).build();
}

}  // namespace penstock::halo
