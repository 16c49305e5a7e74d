// SPDX-License-Identifier: Apache-2.0
#include "common/solvers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace penstock::apps {

std::string text_of(const halo::Grid<3>& grid) {
  return fmt::format("{} cells on {} ranks", fmt::join(grid.cells(), " x "),
                     fmt::join(grid.ranks(), " x "));
}

std::vector<std::pair<std::string, std::string>> fields_of(const halo::Grid<3>& grid) {
  return {{"cells", fmt::format("[{}]", fmt::join(grid.cells(), ","))},
          {"rank_grid", fmt::format("[{}]", fmt::join(grid.ranks(), ","))}};
}

}  // namespace penstock::apps
