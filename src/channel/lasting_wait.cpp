// SPDX-License-Identifier: Apache-2.0
#include "channel/lasting_wait.hpp"

#include <exception>

#include "channel/channel_plan.hpp"

namespace penstock::channel {

bool LastingWait::found_nothing(std::uint32_t unit, transport::Sink& sink) noexcept {
  if (!wait_.found_nothing()) return false;
  if (!wait_.is_to_be_told()) return true;
  try {
    set_label(plan_.grid().text(unit) + " of " + plan_.label());
  } catch (const std::exception&) {  // reports name no unit then
  }
  unit_ = unit;
  wait_.tell(*this, sink);
  return true;
}

std::string LastingWait::describe() const {
  return plan_.describe_unit(unit_);
}

const char* LastingWait::advice() const noexcept {
  return plan_.sends()
             ? "see that the receiver waits for the unit and releases it as often as this "
               "rank puts it"
             : "see that the sender puts the unit, and waits for its put, as often as "
               "this rank waits for it";
}

}  // namespace penstock::channel
