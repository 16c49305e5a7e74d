// SPDX-License-Identifier: Apache-2.0
#include "core/transports.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#if PENSTOCK_CUDA || PENSTOCK_HIP
#include "gpu/make_gpus.hpp"
#include "peer_gpu/gpu_peer.hpp"
#include "relay/gpu/relayed_transport.hpp"
#include "relay/relay.hpp"
#endif
#if PENSTOCK_OFI
#include "ofi/ofi.hpp"
#endif
#include "proxy/proxy.hpp"

namespace penstock::core {

using transport::Message;
using transport::Transport;
using transport::Verdict;

Transports::Transports(const base::Settings& settings, group::World& world,
                       std::chrono::microseconds spin) {
  // "peer" allows all its forms: peer-cuda and peer-hip are such.
  const auto add = [&](std::unique_ptr<Transport> transport) {
    const std::string name = transport->name();
    const bool yes = settings.allows(name.substr(0, name.find('-')));
    entries_.push_back({std::move(transport), yes});
  };
  world.together([&] {
    auto peer = std::make_unique<peer::Peer>(settings, world);
    peer_ = peer.get();
#if PENSTOCK_CUDA || PENSTOCK_HIP
    gpus_ = gpu::make_gpus(settings);
    add(peer_gpu::make_transport(settings, world, *peer_, gpus_));
    const auto relay = std::make_shared<relay::Relay>(spin);
    const auto for_gpus = [this, relay](std::unique_ptr<Transport> host) {
      return relay::relayed(std::move(host), gpus_, relay);
    };
#else
    const auto for_gpus = [](std::unique_ptr<Transport> host) { return host; };
#endif
    add(for_gpus(std::move(peer)));
#if PENSTOCK_OFI
    // Opening a network costs descriptors and time, for nothing where shared memory reaches
    // everybody.
    const bool asked_for = !settings.transports.empty();
    const auto needed = [this, asked_for] { return asked_for || !all_reached_; };
    add(for_gpus(ofi::make_transport(settings, world, spin, needed)));
#endif
    add(for_gpus(proxy::make_transport(settings, world, spin)));
  });
  for (Transport* const each : in_order_of_adding()) {
    Transport& transport = *each;
    transport::WireRecord address;
    world.together([&] { address = transport.address(); });
    world.together([&] { transport.add_peers(world.all_gather(address)); });
    transport.peers_added();
    if (transport.name() == base::peer_transport) all_reached_ = reached_by_peer(world);
  }
}

// Best first: what one reaches the next may leave alone. But the shared memory of hosts before all
// that lies in it.
std::vector<Transport*> Transports::in_order_of_adding() const {
  std::vector<Transport*> order;
  for (const Entry& entry : entries_) order.push_back(entry.transport.get());
  std::stable_partition(order.begin(), order.end(),
                        [](const Transport* each) { return each->name() == base::peer_transport; });
  return order;
}

// Whether shared memory connects every two processes of the job. Collective.
bool Transports::reached_by_peer(group::World& world) const {
  auto mine = std::byte{1};
  for (int rank = 0; rank < world.size(); ++rank)
    if (!peer_->reaches(rank).yes) mine = std::byte{0};
  const auto all = world.all_gather(std::span(&mine, 1));
  return std::all_of(all.begin(), all.end(),
                     [](const auto& one) { return one == std::vector{std::byte{1}}; });
}

Verdict Transports::judge(const Entry& entry, const Message& message) {
  if (!entry.allowed) return {false, "not in PENSTOCK_TRANSPORT"};
  if (Verdict verdict = entry.transport->usable(); !verdict.yes) return verdict;
  return entry.transport->can_serve(message);
}

}  // namespace penstock::core
