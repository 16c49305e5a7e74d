// SPDX-License-Identifier: Apache-2.0
// Which network interface is nearest to what computes, by hwloc's picture of the host.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct hwloc_topology;

namespace penstock::group {

// Where something sits. What is empty is unknown; a PCI address counts more than a name, and a name
// more than cores.
struct Location {
  std::string pci;      // "0000:c1:00.0"
  std::string os_name;  // what the system calls a network interface: "hsn0"
  std::string cores;    // those that a process is bound to, as taskset(1) lists them: "0-7,16"
};

struct FreeTopology {
  void operator()(hwloc_topology* topology) const noexcept;
};
using Topology = std::unique_ptr<hwloc_topology, FreeTopology>;

// This host with its PCI devices, or the one that the XML file describes. Null if hwloc cannot
// tell.
Topology load_topology(const std::string& xml_file = "");

// The cores that this process is bound to now.
Location own_cores();

// Whether the topology shows where it is. No virtual interface is anywhere.
bool located(hwloc_topology* topology, const Location& place);

// Returns for each of the users the number of the interface that it takes. The users are the
// processes of one host, in an order that all of them know. Each takes one of the interfaces
// nearest to it, so that those that are equally near have equally many users. All are equally near
// where nothing is known. There is at least one interface.
std::vector<std::size_t> share_out(hwloc_topology* topology, std::span<const Location> interfaces,
                                   std::span<const Location> users);

}  // namespace penstock::group
