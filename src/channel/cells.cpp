// SPDX-License-Identifier: Apache-2.0
#include "channel/cells.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace penstock::channel {

using base::Error;
using base::ErrorKind;
using transport::WireRecord;

namespace {

template <class Cells>
WireRecord records_of(const Cells& cells) {
  WireRecord all;
  for (const auto& cell : cells) {
    const WireRecord record = cell->record();
    const auto size = static_cast<std::uint32_t>(record.size());
    const auto bytes = std::as_bytes(std::span(&size, 1));
    all.insert(all.end(), bytes.begin(), bytes.end());
    all.insert(all.end(), record.begin(), record.end());
  }
  return all;
}

// Takes the connected half of a cell, which is closed where it cannot be used.
void add_cell(CellPlan& channel, std::unique_ptr<transport::Plan> plan) {
  auto* const host = dynamic_cast<plan::HostPlan*>(plan.get());
  if (!host) {
    plan->close();
    throw Error(ErrorKind::unsupported, "no stream of the host serves the channel's units");
  }
  static_cast<void>(plan.release());
  std::unique_ptr<plan::HostPlan> own(host);
  try {
    channel.add(std::make_unique<Cell>(std::move(own), channel.sends()));
  } catch (...) {
    if (own) own->close();
    throw;
  }
}

}  // namespace

std::span<const std::byte> CellRecords::next() {
  std::uint32_t size = 0;
  const auto too_short = [] {
    return Error(ErrorKind::internal, "the record of a channel has fewer cells than its grid");
  };
  if (rest_.size() < sizeof size) throw too_short();
  std::memcpy(&size, rest_.data(), sizeof size);
  rest_ = rest_.subspan(sizeof size);
  if (rest_.size() < size) throw too_short();
  const auto record = rest_.first(size);
  rest_ = rest_.subspan(size);
  return record;
}

WireRecord CellsOffer::record() const {
  return records_of(cells_);
}

// What has been connected is closed where the rest cannot be: the receiver takes no part of it.
std::unique_ptr<transport::Plan> CellsOffer::connect(std::span<const std::byte> answer) {
  auto channel = std::make_unique<CellPlan>(grid_, /*sends=*/true);
  CellRecords records(answer);
  try {
    for (const auto& cell : cells_) add_cell(*channel, cell->connect(records.next()));
  } catch (...) {
    channel->close();
    throw;
  }
  return channel;
}

WireRecord CellsAcceptance::record() const {
  return records_of(cells_);
}

bool CellsAcceptance::needs_confirmation() const {
  return cells_.empty() || std::any_of(cells_.begin(), cells_.end(),
                                       [](const auto& cell) { return cell->needs_confirmation(); });
}

std::unique_ptr<transport::Plan> CellsAcceptance::confirm() {
  try {
    for (const auto& cell : cells_) add_cell(*plan_, cell->confirm());
  } catch (...) {
    plan_->close();
    throw;
  }
  return std::move(plan_);
}

}  // namespace penstock::channel
