// SPDX-License-Identifier: Apache-2.0
// Why the transports that a pair has not taken do not serve it. Both sides tell each other, so that
// each one's log can say it.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "core/matching/letter.hpp"

namespace penstock::core {

using Refusals = std::vector<std::pair<std::string, std::string>>;  // transport, and why

std::string text_of(const Refusals& refusals);
void write_refusals(LetterWriter& letter, const Refusals& refusals);
Refusals read_refusals(LetterReader& letter);

// What has been thrown, as an error of ours: want of memory is `resources`, anything else unknown
// `internal`.
base::Error error_of(const std::exception& failure) noexcept;

}  // namespace penstock::core
