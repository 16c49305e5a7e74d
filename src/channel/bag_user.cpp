// SPDX-License-Identifier: Apache-2.0
#include "channel/bag_user.hpp"

#include "channel/bag_half.hpp"

namespace penstock::channel {

BagUser::BagUser(BagHalf& half, transport::Sink& queue,
                 const std::shared_ptr<device::Stream>& stream)
    : UsedStream(stream), half_(half), queue_(queue) {
  set_label(half.label());
}

bool BagUser::found_nothing() noexcept {
  if (!wait_.found_nothing()) return false;
  if (wait_.is_to_be_told()) wait_.tell(*this, queue_);
  return true;
}

std::string BagUser::describe() const {
  return half_.missing();
}

const char* BagUser::advice() const noexcept {
  return "see that as many messages are put into the bag as are grabbed, and that each is released";
}

}  // namespace penstock::channel
