// SPDX-License-Identifier: Apache-2.0
// Both ends of the pairs with one peer of a window, until they are connected.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "ofi/engine.hpp"
#include "ofi/window_origin.hpp"
#include "ofi/window_target.hpp"
#include "transport/window.hpp"

namespace penstock::ofi {

class OfiWindow final : public transport::WindowOffer {
 public:
  // Throws base::Error.
  OfiWindow(OfiEngine& engine, const transport::WindowMemory& ours, int peer);
  ~OfiWindow() override;

  transport::WireRecord record() const override;
  transport::WindowEnds connect(std::span<const std::byte> theirs,
                                transport::OperationLists& lists) override;

 private:
  OfiEngine& engine_;
  std::shared_ptr<WindowOrigin> origin_;
  std::shared_ptr<WindowTarget> target_;
};

}  // namespace penstock::ofi
