// SPDX-License-Identifier: Apache-2.0
#include "core/matching/refusals.hpp"

#include <algorithm>
#include <initializer_list>
#include <new>
#include <utility>

namespace penstock::core {

using base::Error;
using base::ErrorKind;

std::string text_of(const Refusals& refusals) {
  std::string text;
  for (const auto& [transport, why] : refusals)
    text += (text.empty() ? "" : "; ") + transport + ": " + why.what();
  return text.empty() ? "no objection" : text;
}

ErrorKind kind_of(const Refusals& sender, const Refusals& receiver) noexcept {
  auto kind = ErrorKind::transport;
  for (const Refusals* side : {&sender, &receiver})
    for (const Refusal& each : *side) {
      if (each.why.kind() == ErrorKind::resources) return ErrorKind::resources;
      if (each.why.kind() != ErrorKind::transport) kind = each.why.kind();
    }
  return kind;
}

void write_refusals(LetterWriter& letter, const Refusals& refusals) {
  letter.value(static_cast<std::uint32_t>(refusals.size()));
  for (const auto& [transport, why] : refusals)
    letter.text(transport).value(why.kind()).text(why.what());
}

Refusals read_refusals(LetterReader& letter) {
  Refusals refusals;
  for (auto count = letter.value<std::uint32_t>(); count > 0; --count) {
    std::string transport = letter.text();
    const auto kind = letter.value<ErrorKind>();
    refusals.push_back({std::move(transport), Error(kind, letter.text())});
  }
  return refusals;
}

Error error_of(const std::exception& failure) noexcept {
  if (const auto* error = dynamic_cast<const Error*>(&failure)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&failure)) return Error(ErrorKind::resources);
  return base::error_by(ErrorKind::internal, [&] { return failure.what(); });
}

}  // namespace penstock::core
