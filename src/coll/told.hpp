// SPDX-License-Identifier: Apache-2.0
// What the members of a collective tell each other at the match, and whether it fits together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "coll/collective_call.hpp"
#include "core/matching/letter.hpp"
#include "datatype/signature.hpp"
#include "transport/combination.hpp"

namespace penstock::coll {

// All of a member that others have to compare.
struct Told {
  CollectiveKind kind{};
  bool in_place = false;
  int root = 0;
  std::size_t element = 1, count = 0;
  transport::Reduction reduction{};
  transport::Element type{};
  int node = 0;
  bool on_gpu = false;
  std::string algorithm, refusal;
  base::ErrorKind refusal_kind{};
  std::vector<std::size_t> sends, receives;  // bytes, as in Shape
  std::vector<int> destinations, sources;
  std::vector<int> team;
  datatype::Signature sent, received;  // they say nothing where they have not been asked for
};

void write_told(core::LetterWriter& letter, const Arguments& arguments, bool with_signatures);
Told read_told(core::LetterReader& letter);

// `told` by rank. Throws base::Error, which says who differs from whom.
void require_fitting(const std::vector<Told>& told);

}  // namespace penstock::coll
