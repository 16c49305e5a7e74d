// SPDX-License-Identifier: Apache-2.0
// Which algorithm a collective takes: member 0 decides it for all.
#pragma once

#include <string>
#include <string_view>

#include "base/verdict.hpp"
#include "coll/algorithms.hpp"

namespace penstock::coll {

struct Situation {
  CollectiveKind collective{};
  Shape shape;  // with the widths that the library chooses
  bool on_gpu = false;
  base::Verdict direct;            // whether all members can do without messages, or why not
  std::string direct_name{};       // by that algorithm
  bool direct_is_fastest = false;  // as all of them expect
};

struct Selection {
  const Algorithm* algorithm;  // null: none, as it goes directly, by Situation::direct_name
  Shape shape;                 // with its width
  std::string because;
};

// `forced`: by info or PENSTOCK_COLL; `tuned`: by the file of PENSTOCK_TUNE, where it serves; "":
// none. Throws base::Error(unsupported) where there is none of the name that is forced, or it does
// not serve.
Selection select(const Situation& situation, std::string_view forced, std::string_view tuned);

// For the log: what was selected and why, what would serve as well, and why not the rest.
std::string describe(const Selection& selection, const Situation& situation);

}  // namespace penstock::coll
