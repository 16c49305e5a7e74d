// SPDX-License-Identifier: Apache-2.0
// Which NIC each process takes, on machines described in tests/unit/topologies.
#include "group/locality.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace penstock::group {
namespace {

using Numbers = std::vector<std::size_t>;

Topology load(const std::string& name) {
  Topology topology = load_topology(std::string(PENSTOCK_TOPOLOGIES) + "/" + name + ".xml");
  EXPECT_NE(topology, nullptr) << name;
  return topology;
}

Location pci(const std::string& address) {
  return {.pci = address, .os_name = {}, .cores = {}};
}
Location named(const std::string& name) {
  return {.pci = {}, .os_name = name, .cores = {}};
}
Location cores(const std::string& list) {
  return {.pci = {}, .os_name = {}, .cores = list};
}

const std::vector<Location> three{pci("0000:12:00.0"), pci("0000:22:00.0"), pci("0000:91:00.0")};

TEST(Locality, AGpuTakesTheNicBehindItsSwitch) {
  const Topology topology = load("two_packages");
  EXPECT_EQ(share_out(topology.get(), three, std::vector{pci("0000:11:00.0"), pci("0000:21:00.0")}),
            (Numbers{0, 1}));
  EXPECT_EQ(share_out(topology.get(), three, std::vector{pci("0000:21:00.0"), pci("0000:11:00.0")}),
            (Numbers{1, 0}));
}

TEST(Locality, AGpuWithoutANicBehindItsSwitchTakesThatOfItsPackage) {
  const Topology topology = load("two_packages");
  EXPECT_EQ(share_out(topology.get(), three, std::vector{pci("0000:81:00.0"), pci("0000:82:00.0")}),
            (Numbers{2, 2}));
}

// As ofi asks: a process tells its GPU and the cores that it is bound to, here those of the other
// package.
TEST(Locality, AGpuCountsMoreThanTheCoresBesideIt) {
  const Topology topology = load("two_packages");
  const Location gpu{.pci = "0000:21:00.0", .os_name = {}, .cores = "4-7"};
  const Location second{.pci = "0000:82:00.0", .os_name = {}, .cores = "0-3"};
  EXPECT_EQ(share_out(topology.get(), three, std::vector{gpu, second, cores("4-7")}),
            (Numbers{1, 2, 2}));
}

TEST(Locality, NamesOfInterfacesDoAsWellAsAddresses) {
  const Topology topology = load("two_packages");
  const std::vector<Location> nics{named("hsn2"), named("hsn1"), named("hsn0")};
  EXPECT_EQ(share_out(topology.get(), nics,
                      std::vector{pci("0000:11:00.0"), pci("0000:21:00.0"), pci("0000:82:00.0"),
                                  cores("5")}),
            (Numbers{2, 1, 0, 0}));
}

TEST(Locality, AHostStreamGoesByItsCores) {
  const Topology topology = load("two_packages");
  const std::vector<Location> nics{pci("0000:12:00.0"), pci("0000:91:00.0")};
  EXPECT_EQ(share_out(topology.get(), nics,
                      std::vector{cores("0"), cores("4"), cores("6-7"), cores("1-3")}),
            (Numbers{0, 1, 1, 0}));
}

TEST(Locality, EquallyNearNicsAreSharedEvenly) {
  const Topology topology = load("one_package");
  const std::vector<Location> nics{named("hsn0"), named("hsn1")};
  const std::vector<Location> gpus{pci("0000:11:00.0"), pci("0000:21:00.0"), pci("0000:31:00.0"),
                                   pci("0000:41:00.0")};
  EXPECT_EQ(share_out(topology.get(), nics, gpus), (Numbers{0, 1, 0, 1}));
  EXPECT_EQ(share_out(topology.get(), nics, std::vector(5, cores("0-7"))),
            (Numbers{0, 1, 0, 1, 0}));
}

// Ranks that alternate between packages: counting all ranks of the host would give the even ones
// the same NIC.
TEST(Locality, RanksThatAlternateBetweenPackagesShareEvenlyToo) {
  const Topology topology = load("two_packages");
  const std::vector<Location> users{cores("0"), cores("4"), cores("1"),
                                    cores("5"), cores("2"), cores("6")};
  EXPECT_EQ(share_out(topology.get(), three, users), (Numbers{0, 2, 1, 2, 0, 2}));
}

// Who may run anywhere takes what those have left who sit beside one NIC.
TEST(Locality, WhoHasNoChoiceComesFirst) {
  const Topology topology = load("two_packages");
  const std::vector<Location> users{cores("0-7"), pci("0000:11:00.0"), pci("0000:21:00.0")};
  EXPECT_EQ(share_out(topology.get(), three, users), (Numbers{2, 0, 1}));
}

TEST(Locality, AVirtualInterfaceComesLast) {
  const Topology topology = load("two_packages");
  EXPECT_FALSE(located(topology.get(), named("veth0")));
  EXPECT_TRUE(located(topology.get(), named("hsn2")));
  const std::vector<Location> nics{named("veth0"), named("hsn2")};
  EXPECT_EQ(
      share_out(topology.get(), nics, std::vector{cores("0"), pci("0000:11:00.0"), Location{}}),
      (Numbers{1, 1, 1}));
}

TEST(Locality, WhereNothingIsKnownAllAreEquallyNear) {
  const std::vector<Location> nics{named("veth0"), named("veth1")};
  const std::vector<Location> users{Location{}, pci("ffff:00:00.0"), cores("nonsense"),
                                    cores("4000")};
  EXPECT_EQ(share_out(load("two_packages").get(), nics, users), (Numbers{0, 1, 0, 1}));
  EXPECT_EQ(share_out(nullptr, nics, users), (Numbers{0, 1, 0, 1}));
}

// A GPU that the system hides from hwloc: the process's cores tell where it is.
TEST(Locality, CoresCountWhereThePciAddressIsUnknown) {
  const Topology topology = load("two_packages");
  const Location hidden{.pci = "ffff:00:00.0", .os_name = {}, .cores = "4-7"};
  EXPECT_EQ(share_out(topology.get(), three, std::vector{hidden}), (Numbers{2}));
}

TEST(Locality, ThisHostCanBeAsked) {
  const Topology topology = load_topology();
  ASSERT_NE(topology, nullptr);
  EXPECT_FALSE(own_cores().cores.empty());
  EXPECT_TRUE(located(topology.get(), own_cores()));
  EXPECT_EQ(load_topology("/nonexistent.xml"), nullptr);
}

}  // namespace
}  // namespace penstock::group
