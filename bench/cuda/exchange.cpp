// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <algorithm>

namespace penstock::bench {
namespace {

constexpr std::size_t line = 128;

std::size_t rounded(std::size_t bytes) {
  return (bytes + line - 1) / line * line;
}

std::vector<Message> lay_out(const std::vector<Traffic::Part>& parts, const DeviceMemory& memory) {
  std::vector<Message> messages;
  std::size_t offset = 0;
  for (const auto& part : parts) {
    messages.push_back({part.peer, memory.all().subspan(offset, part.bytes)});
    offset += rounded(part.bytes);
  }
  return messages;
}

}  // namespace

Exchange::Exchange(const Traffic& traffic)
    : Exchange(traffic, DeviceMemory(room_for(traffic.sends)),
               DeviceMemory(room_for(traffic.receives))) {}

Exchange::Exchange(const Traffic& traffic, DeviceMemory outgoing, DeviceMemory incoming)
    : traffic_(traffic),
      outgoing_(std::move(outgoing)),
      incoming_(std::move(incoming)),
      sent_(lay_out(traffic.sends, outgoing_)),
      received_(lay_out(traffic.receives, incoming_)) {}

std::size_t Exchange::room_for(const std::vector<Traffic::Part>& parts) {
  std::size_t bytes = 0;
  for (const auto& part : parts) bytes += rounded(part.bytes);
  return bytes;
}

void Exchange::round(bool, bool) {
  if (traffic_.shape == Traffic::Shape::at_once) {
    prepare();
    move(true, true);
    use();
  } else if (traffic_.leads) {
    prepare();
    move(true, false);
    move(false, true);
    use();
  } else {
    move(false, true);
    use();
    prepare();
    move(true, false);
  }
}

void Exchange::add_cost(const char* name, double us) {
  auto found = std::find_if(costs_.begin(), costs_.end(),
                            [&](const CallCost& each) { return each.call == name; });
  if (found == costs_.end()) found = costs_.insert(costs_.end(), {name});
  found->us += us;
  ++found->calls;
}

}  // namespace penstock::bench
