// SPDX-License-Identifier: Apache-2.0
// Why the transports that a pair has not taken do not serve it. Both sides tell each other, so that
// each one's log can say it.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/matching/letter.hpp"

namespace penstock::core {

struct Refusal {
  std::string transport;
  base::Error why;
};
using Refusals = std::vector<Refusal>;

std::string text_of(const Refusals& refusals);
// The kind of error of a match that no transport serves. Want of resources comes first: with more
// of them, a transport would serve it. Else it is what the last transport says for a reason of its
// own, since that one serves most.
base::ErrorKind kind_of(const Refusals& sender, const Refusals& receiver) noexcept;
void write_refusals(LetterWriter& letter, const Refusals& refusals);
Refusals read_refusals(LetterReader& letter);

// What has been thrown, as an error of ours: want of memory is `resources`, anything else unknown
// `internal`.
base::Error error_of(const std::exception& failure) noexcept;

}  // namespace penstock::core
