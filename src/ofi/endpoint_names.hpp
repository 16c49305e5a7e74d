// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace penstock::ofi {

// The names of the endpoints of all processes of the job, by world rank, each in as much room as
// the longest needs: those of one provider are alike.
class EndpointNames {
 public:
  explicit EndpointNames(std::size_t ranks) : lengths_(ranks) {}

  void keep(std::size_t rank, std::span<const std::byte> name) {  // throws std::bad_alloc
    if (name.size() > room_) widen(name.size());
    std::copy(name.begin(), name.end(), at_rank(rank));
    lengths_[rank] = static_cast<std::uint8_t>(name.size());  // AddressRecord has room for 128
  }
  std::span<const std::byte> at(std::size_t rank) const noexcept {
    return std::span(names_).subspan(rank * room_, lengths_[rank]);
  }

 private:
  std::vector<std::byte>::iterator at_rank(std::size_t rank) {
    return names_.begin() + static_cast<std::ptrdiff_t>(rank * room_);
  }
  void widen(std::size_t room) {
    std::vector<std::byte> wider(lengths_.size() * room);
    for (std::size_t rank = 0; rank < lengths_.size(); ++rank) {
      const auto name = at(rank);
      std::copy(name.begin(), name.end(), wider.begin() + static_cast<std::ptrdiff_t>(rank * room));
    }
    names_ = std::move(wider);
    room_ = room;
  }

  std::vector<std::uint8_t> lengths_;
  std::size_t room_ = 0;
  std::vector<std::byte> names_;
};

}  // namespace penstock::ofi
