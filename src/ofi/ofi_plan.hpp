// SPDX-License-Identifier: Apache-2.0
// One half of a pair on a host stream.
#pragma once

#include <optional>
#include <string>

#include "ofi/engine.hpp"
#include "plan/engine_plan.hpp"

namespace penstock::ofi {

class OfiPlan final : public plan::EnginePlan<OfiEngine, PairEnd> {
 public:
  using EnginePlan::EnginePlan;
  ~OfiPlan() override { engine_.destroy(end_); }

  void expect_start() override { engine_.arm(*end_); }
  std::string describe() const override;
  std::string path() const override;

 private:
  std::optional<base::Error> take_buffer(protocol::Epoch epoch) override;
  bool complete(protocol::Epoch epoch) const noexcept override;
  void finish(protocol::Epoch epoch) noexcept override;
  bool in_slots() const noexcept { return end_->shape.protocol == Protocol::ring; }
};

}  // namespace penstock::ofi
