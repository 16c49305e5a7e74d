// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <algorithm>

namespace penstock::bench {
namespace {

std::size_t rounded(std::size_t bytes, std::size_t line) {
  return (bytes + line - 1) / line * line;
}

std::size_t room_for(const std::vector<Traffic::Part>& parts, std::size_t line) {
  std::size_t bytes = 0;
  for (const Traffic::Part& part : parts) bytes += rounded(part.reach(), line);
  return bytes;
}

void lay_out(const std::vector<Traffic::Part>& parts, bool sends, const Memory& memory,
             std::size_t line, std::vector<Message>& messages) {
  std::size_t offset = 0;
  for (const Traffic::Part& part : parts) {
    messages.push_back({part, sends, memory.all().subspan(offset, part.reach())});
    offset += rounded(part.reach(), line);
  }
}

}  // namespace

Exchange::Exchange(const Traffic& traffic, const MemorySource& source)
    : traffic_(traffic),
      outgoing_(source.allocate(room_for(traffic.sends, source.line))),
      incoming_(source.allocate(room_for(traffic.receives, source.line))) {
  lay_out(traffic.sends, true, outgoing_, source.line, messages_);
  lay_out(traffic.receives, false, incoming_, source.line, messages_);
}

void Exchange::add_cost(const char* name, double us) {
  auto found = std::find_if(costs_.begin(), costs_.end(),
                            [&](const CallCost& each) { return each.call == name; });
  if (found == costs_.end()) found = costs_.insert(costs_.end(), {name});
  found->us += us;
  ++found->calls;
}

}  // namespace penstock::bench
