// SPDX-License-Identifier: Apache-2.0
// One end of a channel over any transport: a cell for each unit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "channel/cell.hpp"
#include "channel/channel_plan.hpp"

namespace penstock::channel {

class CellPlan final : public ChannelPlan {
 public:
  CellPlan(const Grid& grid, bool sends);

  // At the match: the cells in their order. They are room enough made by the constructor.
  void add(std::unique_ptr<Cell> cell) noexcept { cells_.push_back(std::move(cell)); }

  bool test(UnitRange units) override;
  std::string path() const override;
  void set_label(std::string label) override;
  // The first put of a unit needs no release: the receives are started.
  void matched() noexcept override;
  void cancel_wait(const base::Error& error) noexcept override;

 private:
  class Taken;

  std::optional<base::Error> misuse(Verb verb, const Call& call) const noexcept override;
  bool advance_all(Verb verb, Call& call, LastingWait& wait,
                   transport::Sink& sink) noexcept override;
  void tell_given_up() noexcept override;
  bool untouched(const Call& call) noexcept override;
  bool close_now() noexcept override;
  static bool work(Verb verb, Cell& cell) noexcept;
  void tell_of_left() noexcept;

  std::vector<std::unique_ptr<Cell>> cells_;
  bool closed_ = false;
};

}  // namespace penstock::channel
