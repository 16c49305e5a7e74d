// SPDX-License-Identifier: Apache-2.0
#include "core/matching/refusals.hpp"

#include <new>

namespace penstock::core {

using base::Error;
using base::ErrorKind;

std::string text_of(const Refusals& refusals) {
  std::string text;
  for (const auto& [transport, why] : refusals)
    text += (text.empty() ? "" : "; ") + transport + ": " + why;
  return text.empty() ? "no objection" : text;
}

void write_refusals(LetterWriter& letter, const Refusals& refusals) {
  letter.value(static_cast<std::uint32_t>(refusals.size()));
  for (const auto& [transport, why] : refusals) letter.text(transport).text(why);
}

Refusals read_refusals(LetterReader& letter) {
  Refusals refusals(letter.value<std::uint32_t>());
  for (auto& [transport, why] : refusals) {
    transport = letter.text();
    why = letter.text();
  }
  return refusals;
}

Error error_of(const std::exception& failure) noexcept {
  if (const auto* error = dynamic_cast<const Error*>(&failure)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&failure)) return Error(ErrorKind::resources);
  return base::error_by(ErrorKind::internal, [&] { return failure.what(); });
}

}  // namespace penstock::core
