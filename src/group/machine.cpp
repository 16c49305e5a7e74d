// SPDX-License-Identifier: Apache-2.0
#include "group/machine.hpp"

#include <hwloc.h>

#include <fstream>
#include <memory>

namespace penstock::group {

Machine look_at_machine() {
  Machine machine;
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return machine;
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> owner(
      topology, hwloc_topology_destroy);
  if (hwloc_topology_load(topology) != 0) return machine;
  machine.cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  machine.numa_nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
  if (hwloc_bitmap_t set = hwloc_bitmap_alloc()) {
    if (hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0)
      machine.usable_cores = hwloc_bitmap_weight(set);
    hwloc_bitmap_free(set);
  }
  if (hwloc_obj_t package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, nullptr))
    if (const char* model = hwloc_obj_get_info_by_name(package, "CPUModel"))
      machine.processor = model;
  return machine;
}

std::string kernel_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

}  // namespace penstock::group
