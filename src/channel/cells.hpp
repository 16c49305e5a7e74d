// SPDX-License-Identifier: Apache-2.0
// The match of all cells of a channel at once: what each needs stands in one record.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "channel/cell_plan.hpp"
#include "channel/grid.hpp"
#include "transport/transport.hpp"

namespace penstock::channel {

// Reads the records of the cells, one behind the other, each behind its length.
class CellRecords {
 public:
  explicit CellRecords(std::span<const std::byte> all) noexcept : rest_(all) {}
  std::span<const std::byte> next();  // throws Error(internal)

 private:
  std::span<const std::byte> rest_;
};

class CellsOffer final : public transport::Offer {
 public:
  explicit CellsOffer(const Grid& grid) : grid_(grid) {}
  void add(std::unique_ptr<transport::Offer> cell) { cells_.push_back(std::move(cell)); }
  transport::WireRecord record() const override;
  std::unique_ptr<transport::Plan> connect(std::span<const std::byte> answer) override;

 private:
  const Grid grid_;
  std::vector<std::unique_ptr<transport::Offer>> cells_;
};

class CellsAcceptance final : public transport::Acceptance {
 public:
  explicit CellsAcceptance(const Grid& grid)
      : plan_(std::make_unique<CellPlan>(grid, /*sends=*/false)) {}
  void add(std::unique_ptr<transport::Acceptance> cell) { cells_.push_back(std::move(cell)); }
  transport::WireRecord record() const override;
  bool needs_confirmation() const override;
  std::unique_ptr<transport::Plan> confirm() override;

 private:
  std::unique_ptr<CellPlan> plan_;
  std::vector<std::unique_ptr<transport::Acceptance>> cells_;
};

}  // namespace penstock::channel
