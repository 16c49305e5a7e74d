// SPDX-License-Identifier: Apache-2.0
// How an algorithm is named from outside: by info, PENSTOCK_COLL or a file of PENSTOCK_TUNE.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "coll/algorithms.hpp"

namespace penstock::coll {

// "multileader", or with its width "multileader:2".
struct Wish {
  std::string name;
  int width = 0;  // 0: as the library chooses
};

// Throws base::Error(unsupported): the collective has no such algorithm, or that one no such width.
Wish read_wish(CollectiveKind collective, std::string_view text);

// "multileader:2" of the shape's width.
std::string full_name(const Algorithm& algorithm, const Shape& shape);

std::optional<CollectiveKind> collective_named(std::string_view name);

// All that the collective has, with commas.
std::string names_of(CollectiveKind collective);

// What PENSTOCK_COLL wishes for the collective; "": nothing. Throws base::Error(setting) where it
// is not such a list.
std::string_view forced_algorithm(std::string_view setting, CollectiveKind collective);

}  // namespace penstock::coll
