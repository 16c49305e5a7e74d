// SPDX-License-Identifier: Apache-2.0
#include "core/transports.hpp"

#include <algorithm>

#if PENSTOCK_CUDA || PENSTOCK_HIP
#include "transport/cuda/make_gpus.hpp"
#include "transport/peer/cuda/cuda_peer.hpp"
#include "transport/relay/cuda/relayed_transport.hpp"
#include "transport/relay/relay.hpp"
#endif
#include "transport/proxy/proxy.hpp"

namespace penstock::core {

using transport::Message;
using transport::Transport;
using transport::Verdict;

Transports::Transports(const base::Settings& settings, group::World& world, std::chrono::microseconds spin) {
  // "peer" allows all its forms: peer-cuda and peer-hip are such.
  const auto add = [&](std::unique_ptr<Transport> transport) {
    const std::string name = transport->name();
    const bool yes = settings.allows(name.substr(0, name.find('-')));
    entries_.push_back({std::move(transport), yes});
  };
  std::vector<transport::Blob> announcements;
  world.together([&] {
    auto peer = std::make_unique<transport::peer::Peer>(settings, world);
    peer_ = peer.get();
#if PENSTOCK_CUDA || PENSTOCK_HIP
    const auto gpus = transport::cuda::make_gpus(settings);
    add(transport::peer::cuda::make_transport(settings, world, *peer_, gpus));
    const auto relay = std::make_shared<transport::relay::Relay>(spin);
    const auto for_gpus = [&](std::unique_ptr<Transport> host) {
      return transport::relay::cuda::relayed(std::move(host), gpus, relay);
    };
#else
    const auto for_gpus = [](std::unique_ptr<Transport> host) { return host; };
#endif
    add(for_gpus(std::move(peer)));
    add(for_gpus(std::make_unique<transport::proxy::Proxy>(settings, world, spin)));
    for (Entry& entry : entries_) announcements.push_back(entry.transport->announce());
  });
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Transport& transport = *entries_[i].transport;
    world.together([&] { transport.meet(world.all_gather(announcements[i])); });
    transport.met();
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
