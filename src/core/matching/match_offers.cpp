// SPDX-License-Identifier: Apache-2.0
#include "core/matching/match_offers.hpp"

#include <cstdint>
#include <utility>

namespace penstock::core {

using base::Error;

OwnOffers make_offers(
    const Transports& transports, const transport::Message& message,
    const std::function<std::unique_ptr<transport::Offer>(transport::Transport&)>& make) {
  OwnOffers own;
  for (const Transports::Entry& entry : transports.entries()) {
    const std::string name = entry.transport->name();
    try {
      const transport::Verdict verdict = Transports::judge(entry, message);
      if (!verdict.yes)
        own.refusals.push_back({name, Error(verdict.kind, verdict.why)});
      else if (auto offer = make(*entry.transport))
        own.offers.emplace(name, std::move(offer));
    } catch (const std::exception& failure) {
      own.refusals.push_back({name, error_of(failure)});
    }
  }
  return own;
}

void write_offers(LetterWriter& letter, const OwnOffers& own) {
  write_refusals(letter, own.refusals);
  letter.value(static_cast<std::uint32_t>(own.offers.size()));
  for (const auto& [name, offer] : own.offers) letter.text(name).bytes(offer->record());
}

TheirOffers read_offers(LetterReader& letter) {
  TheirOffers theirs;
  theirs.refusals = read_refusals(letter);
  for (auto count = letter.value<std::uint32_t>(); count > 0; --count) {
    std::string name = letter.text();
    const auto record = letter.bytes();
    theirs.records.emplace(std::move(name), transport::WireRecord(record.begin(), record.end()));
  }
  return theirs;
}

}  // namespace penstock::core
