// SPDX-License-Identifier: Apache-2.0
#include "ofi/job_layout.hpp"

#include <sys/stat.h>

#include <cstring>
#include <span>

#include "group/machine.hpp"

namespace penstock::ofi {
namespace {

struct Introduction {
  char network[64] = {};
  char pci[32] = {};
  char os_name[32] = {};
  char cores[256] = {};
};

template <std::size_t room>
void put(char (&field)[room], const std::string& text) {
  // What does not fit is left out whole: half a list of cores would be another place.
  if (text.size() < room) std::memcpy(field, text.data(), text.size());
}

}  // namespace

// A namespace has a number, which another kernel may have given, too.
std::string network_identity() {
  struct stat network {};
  const bool known = stat("/proc/self/ns/net", &network) == 0;
  return group::kernel_identity() + "/" + (known ? std::to_string(network.st_ino) : "?");
}

group::Location own_place(const std::string& gpu) {
  group::Location place = group::own_cores();
  place.pci = gpu;
  return place;
}

std::vector<std::byte> introduce(const std::string& network, const group::Location& own) {
  Introduction mine;
  put(mine.network, network);
  put(mine.pci, own.pci);
  put(mine.os_name, own.os_name);
  put(mine.cores, own.cores);
  const auto bytes = std::as_bytes(std::span(&mine, 1));
  return {bytes.begin(), bytes.end()};
}

JobLayout layout_of(std::size_t rank, const std::vector<std::vector<std::byte>>& introductions) {
  std::vector<Introduction> all(introductions.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    std::memcpy(&all[i], introductions[i].data(), sizeof all[i]);
  JobLayout layout;
  layout.users.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::strcmp(all[rank].network, all[i].network) != 0) continue;
    if (i == rank) layout.self = layout.users.size();
    layout.users.push_back({.pci = all[i].pci, .os_name = all[i].os_name, .cores = all[i].cores});
  }
  layout.all_here = layout.users.size() == all.size();
  return layout;
}

JobLayout layout_of_job(group::World& world, const group::Location& own) {
  return layout_of(static_cast<std::size_t>(world.rank()),
                   world.all_gather(introduce(network_identity(), own)));
}

}  // namespace penstock::ofi
