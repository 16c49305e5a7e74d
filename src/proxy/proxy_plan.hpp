// SPDX-License-Identifier: Apache-2.0
// One half of a pair on a host stream: the worker writes a trigger word, progress gives the
// operation to MPI and writes the word that the wait looks at.
#pragma once

#include <optional>
#include <string>

#include "plan/engine_plan.hpp"
#include "proxy/engine.hpp"

namespace penstock::proxy {

class ProxyPlan final : public plan::EnginePlan<ProxyEngine, PairEnd> {
 public:
  using EnginePlan::EnginePlan;

  std::string describe() const override;
  std::string path() const override { return "proxy (messages of MPI)"; }

 private:
  std::optional<base::Error> take_buffer(protocol::Epoch epoch) override;
  bool complete(protocol::Epoch epoch) const noexcept override;
};

}  // namespace penstock::proxy
