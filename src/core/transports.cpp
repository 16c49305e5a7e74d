// SPDX-License-Identifier: Apache-2.0
#include "core/transports.hpp"

#include <algorithm>

#include "transport/proxy/proxy.hpp"

namespace penstock::core {

using transport::Message;
using transport::Transport;
using transport::Verdict;

Transports::Transports(const base::Settings& settings, group::World& world) {
  const auto allowed = [&](const std::string& name) {
    return settings.transports.empty() ||
           std::find(settings.transports.begin(), settings.transports.end(), name) != settings.transports.end();
  };
  const auto add = [&](std::unique_ptr<Transport> transport) {
    const bool yes = allowed(transport->name());
    entries_.push_back({std::move(transport), yes});
  };
  auto peer = std::make_unique<transport::peer::Peer>(settings, world);
  peer_ = peer.get();
  add(std::move(peer));
  add(std::make_unique<transport::proxy::Proxy>(settings, world));

  for (Entry& entry : entries_) {
    entry.transport->meet(world.all_gather(entry.transport->announce()));
    world.barrier();
    entry.transport->met();
  }
}

Transport* Transports::find(const std::string& name) const noexcept {
  for (const Entry& entry : entries_)
    if (entry.allowed && entry.transport->name() == name) return entry.transport.get();
  return nullptr;
}

Verdict Transports::judge(const Entry& entry, const Message& message) {
  if (!entry.allowed) return {false, "not in PENSTOCK_TRANSPORT"};
  if (Verdict verdict = entry.transport->usable(); !verdict.yes) return verdict;
  return entry.transport->can_serve(message);
}
base::ErrorKind Transports::refusal(const Message& message) const {
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(), [](const Entry& entry) { return entry.allowed; });
  return last == entries_.rend() ? base::ErrorKind::transport : judge(*last, message).kind;
}


}  // namespace penstock::core
