// SPDX-License-Identifier: Apache-2.0
#include "group/locality.hpp"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace penstock::group {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_t set) const noexcept { hwloc_bitmap_free(set); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

hwloc_obj_t find_os_device(hwloc_topology_t topology, const std::string& name) {
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology, device)) != nullptr;)
    if (device->name != nullptr && name == device->name) return device;
  return nullptr;
}

hwloc_obj_t find_cores(hwloc_topology_t topology, const std::string& list) {
  const Bitmap set(hwloc_bitmap_alloc());
  if (!set || hwloc_bitmap_list_sscanf(set.get(), list.c_str()) != 0) return nullptr;
  hwloc_bitmap_and(set.get(), set.get(), hwloc_topology_get_topology_cpuset(topology));
  return hwloc_bitmap_iszero(set.get()) ? nullptr
                                        : hwloc_get_obj_covering_cpuset(topology, set.get());
}

hwloc_obj_t find(hwloc_topology_t topology, const Location& place) {
  hwloc_obj_t found = nullptr;
  if (!place.pci.empty()) found = hwloc_get_pcidev_by_busidstring(topology, place.pci.c_str());
  if (found == nullptr && !place.os_name.empty()) found = find_os_device(topology, place.os_name);
  if (found == nullptr && !place.cores.empty()) found = find_cores(topology, place.cores);
  return found;
}

int depth_of(hwloc_obj_t object) {
  int depth = 0;
  for (; object->parent != nullptr; object = object->parent) ++depth;
  return depth;
}

// How deep the tree of the machine is where both branches part: the deeper, the nearer. hwloc's own
// depths say nothing about bridges and devices.
int nearness(hwloc_obj_t one, hwloc_obj_t other) {
  int depth = depth_of(one);
  int other_depth = depth_of(other);
  while (one != other) {
    const bool climb_one = depth >= other_depth;
    const bool climb_other = other_depth >= depth;
    if (climb_one) one = one->parent, --depth;
    if (climb_other) other = other->parent, --other_depth;
  }
  return depth;
}

std::vector<std::size_t> nearest(hwloc_topology_t topology, std::span<const Location> interfaces,
                                 const Location& user) {
  constexpr int nowhere = -1;
  const hwloc_obj_t here = topology != nullptr ? find(topology, user) : nullptr;
  std::vector<int> near(interfaces.size(), nowhere);
  for (std::size_t i = 0; i < interfaces.size() && topology != nullptr; ++i) {
    const hwloc_obj_t there = find(topology, interfaces[i]);
    if (there != nullptr) near[i] = here != nullptr ? nearness(here, there) : 0;
  }
  const int best = *std::max_element(near.begin(), near.end());
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < near.size(); ++i)
    if (near[i] == best) result.push_back(i);
  return result;
}

}  // namespace

void FreeTopology::operator()(hwloc_topology* topology) const noexcept {
  hwloc_topology_destroy(topology);
}

// Without hwloc's component "pci" it finds the same devices, and does not read the file of all
// devices' names, which takes 15 to 40 ms.
Topology load_topology(const std::string& xml_file) {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return nullptr;
  Topology topology(made);
  if (!xml_file.empty() && hwloc_topology_set_xml(made, xml_file.c_str()) != 0) return nullptr;
#if HWLOC_API_VERSION >= 0x00020100
  hwloc_topology_set_components(made, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "pci");
#endif
  hwloc_topology_set_io_types_filter(made, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(made) != 0) return nullptr;
  return topology;
}

Location own_cores() {
  Location place;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const Bitmap set(hwloc_bitmap_alloc());
  if (!set || sched_getaffinity(0, sizeof cores, &cores) != 0) return place;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &cores)) hwloc_bitmap_set(set.get(), core);
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, set.get()) >= 0) place.cores = text;
  std::free(text);
  return place;
}

bool located(hwloc_topology* topology, const Location& place) {
  return topology != nullptr && find(topology, place) != nullptr;
}

std::vector<std::size_t> share_out(hwloc_topology* topology, std::span<const Location> interfaces,
                                   std::span<const Location> users) {
  std::vector<std::vector<std::size_t>> near;
  for (const Location& user : users) near.push_back(nearest(topology, interfaces, user));
  // Who has the least choice comes first; the others then find what is left.
  std::vector<std::size_t> order(users.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return near[one].size() < near[other].size();
  });
  std::vector<std::size_t> taken(interfaces.size(), 0);
  std::vector<std::size_t> result(users.size());
  for (const std::size_t user : order) {
    result[user] = *std::min_element(
        near[user].begin(), near[user].end(),
        [&](std::size_t one, std::size_t other) { return taken[one] < taken[other]; });
    ++taken[result[user]];
  }
  return result;
}

}  // namespace penstock::group
