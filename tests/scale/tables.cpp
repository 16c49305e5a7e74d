// SPDX-License-Identifier: Apache-2.0
#include "scale/tables.hpp"

#include <functional>
#include <memory>

#include "base/shared_texts.hpp"
#include "group/mailbox.hpp"
#include "ofi/endpoint_names.hpp"
#include "ofi/reach.hpp"
#include "peer/local_peer.hpp"
#include "proxy/tags.hpp"
#include "scale/allocated.hpp"
#include "scale/post.hpp"

namespace penstock::scale {
namespace {

constexpr int many = 100000;  // so many that what does not grow with them is lost

template <class Make>
double bytes_of(Make&& make) {
  const double before = allocated();
  const auto made = make();
  return (allocated() - before) / many;
}

std::vector<peer::LocalPeer> out_of_reach(base::SharedTexts& texts) {
  std::vector<peer::LocalPeer> peers(many);
  for (peer::LocalPeer& each : peers)
    each.why_not = texts.share("peer is on another host, or sees another /dev/shm");
  return peers;
}

ofi::EndpointNames names_of_sockets() {
  constexpr std::size_t name_bytes = 16;  // an address of IPv4
  const std::vector<std::byte> name(name_bytes);
  ofi::EndpointNames names(many);
  for (std::size_t rank = 0; rank < many; ++rank) names.keep(rank, name);
  return names;
}

}  // namespace

std::vector<Table> tables() {
  Post post(many, {}, 1);
  base::SharedTexts texts;
  const double word = sizeof(std::uint64_t);
  return {
      {"whether its process has ended", "group/process_watch.hpp",
       bytes_of([] { return std::make_unique<std::atomic<bool>[]>(many); })},
      {"whether letters reach it", "group/letter_mailbox.cpp",
       bytes_of([&] { return group::Mailbox::open(std::make_unique<MemoryCarrier>(post, 0)); })},
      {"shared memory: its file, or why not", "peer/peer.hpp",
       bytes_of([&] { return out_of_reach(texts); })},
      {"shared memory: a word that it writes", "peer/peer.hpp", word},
      {"ofi: whether it can be reached, or why not", "ofi/reach.hpp", bytes_of([&] {
         return std::vector<ofi::Reach>(many, {true, texts.share("the network")});
       })},
      {"ofi: the name of its endpoint, of sockets", "ofi/endpoint_names.hpp",
       bytes_of([] { return names_of_sockets(); })},
      {"ofi: its address", "ofi/engine.hpp", word},
      {"ofi: until when it is quiet", "plan/progress_engine.hpp", word},
      {"proxy: its thread level", "proxy/proxy.cpp", sizeof(int)},
      {"proxy: tags of its messages", "proxy/tags.hpp",
       bytes_of([] { return std::make_unique<proxy::Tags>(many, 32767); })},
      {"proxy: until when it is quiet", "plan/progress_engine.hpp", word},
      {"its rank in each communicator but MPI_COMM_WORLD", "group/mpi_communicator.cpp",
       sizeof(int)},
  };
}

}  // namespace penstock::scale
