// SPDX-License-Identifier: Apache-2.0
// One half of a pair on a host stream: the worker writes a trigger word, progress gives the operation to MPI and writes
// the word that the wait looks at.
#pragma once

#include <optional>
#include <string>

#include "transport/engine_plan.hpp"
#include "transport/proxy/engine.hpp"

namespace penstock::transport::proxy {

class ProxyPlan final : public EnginePlan<Engine, Channel> {
 public:
  using EnginePlan::EnginePlan;

  std::string describe() const override;
  std::string path() const override { return "proxy (messages of MPI)"; }

 private:
  std::optional<base::Error> take_buffer(Epoch epoch) override;
  bool complete(Epoch epoch) const noexcept override;
};

}  // namespace penstock::transport::proxy
