// SPDX-License-Identifier: Apache-2.0
#include "ofi/window.hpp"

#include "plan/engine_plan.hpp"
#include "transport/wire_record.hpp"

namespace penstock::ofi {

OfiWindow::OfiWindow(OfiEngine& engine, const transport::WindowMemory& ours, int peer)
    : engine_(engine), origin_(engine.add_origin(peer)) {
  try {
    target_ = engine.add_target(peer, ours);
  } catch (...) {
    engine_.release(origin_);
    throw;
  }
}

OfiWindow::~OfiWindow() {
  engine_.release(target_);
  engine_.release(origin_);
}

transport::WireRecord OfiWindow::record() const {
  return transport::to_wire(WindowRecord{origin_->record(), target_->record()});
}

transport::WindowEnds OfiWindow::connect(std::span<const std::byte> theirs,
                                         transport::OperationLists& lists) {
  const auto record = transport::from_wire<WindowRecord>(theirs);
  origin_->connect(record.target, lists);
  target_->connect(record.origin);
  engine_.enroll(origin_);
  engine_.enroll(target_);
  try {
    transport::WindowEnds ends;
    ends.origin = std::make_unique<plan::EnginePlan<OfiEngine, WindowOrigin>>(engine_, origin_);
    ends.target = std::make_unique<plan::EnginePlan<OfiEngine, WindowTarget>>(engine_, target_);
    ends.reach = {.direct = true, .atomic = true};
    ends.posts_are_words = false;
    return ends;
  } catch (...) {
    engine_.close(*origin_, 1);
    engine_.close(*target_, 1);
    throw;
  }
}

}  // namespace penstock::ofi
