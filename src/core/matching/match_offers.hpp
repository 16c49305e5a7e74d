// SPDX-License-Identifier: Apache-2.0
// What the end that comes first in a match sends along for each transport that could serve it, and
// why the others do not.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/matching/letter.hpp"
#include "core/matching/refusals.hpp"
#include "core/transports.hpp"
#include "transport/transport.hpp"

namespace penstock::core {

struct OwnOffers {
  std::map<std::string, std::unique_ptr<transport::Offer>> offers;  // by transport
  Refusals refusals;
};

// The same, as the other end reads it.
struct TheirOffers {
  std::map<std::string, transport::WireRecord> records;  // by transport
  Refusals refusals;
};

// `make` may throw, which is a refusal, and may return null, which is none.
OwnOffers make_offers(
    const Transports& transports, const transport::Message& message,
    const std::function<std::unique_ptr<transport::Offer>(transport::Transport&)>& make);
void write_offers(LetterWriter& letter, const OwnOffers& own);
TheirOffers read_offers(LetterReader& letter);

}  // namespace penstock::core
