// SPDX-License-Identifier: Apache-2.0
// The match of a channel by words: each end tells the other where its words are.
#pragma once

#include <memory>
#include <span>

#include "channel/grid.hpp"
#include "channel/word_plan.hpp"
#include "peer/units.hpp"
#include "transport/transport.hpp"

namespace penstock::channel {

class WordsOffer final : public transport::Offer {
 public:
  WordsOffer(peer::Peer& by, const Grid& grid, const transport::Message& send);
  transport::WireRecord record() const override;
  std::unique_ptr<transport::Plan> connect(std::span<const std::byte> answer) override;

 private:
  std::unique_ptr<WordPlan> plan_;  // made before the other end knows of this one
};

class WordsAcceptance final : public transport::Acceptance {
 public:
  WordsAcceptance(peer::Peer& by, const Grid& grid, const transport::Message& receive,
                  std::span<const std::byte> offer);
  transport::WireRecord record() const override;
  // Nothing is left to fail at the sender but what it tells the receiver of.
  bool needs_confirmation() const override { return false; }
  std::unique_ptr<transport::Plan> confirm() override;

 private:
  peer::UnitsRecord record_;
  std::unique_ptr<WordPlan> plan_;
};

}  // namespace penstock::channel
