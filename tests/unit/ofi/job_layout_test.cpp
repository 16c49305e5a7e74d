// SPDX-License-Identifier: Apache-2.0
// Who shares a process's network interfaces, and whether loopback reaches everybody.
#include "ofi/job_layout.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::ofi {
namespace {

std::vector<std::byte> rank_in(const std::string& network, const std::string& cores) {
  return introduce(network, {.pci = {}, .os_name = {}, .cores = cores});
}

std::vector<std::string> cores_of(const JobLayout& layout) {
  std::vector<std::string> cores;
  for (const group::Location& user : layout.users) cores.push_back(user.cores);
  return cores;
}

using Texts = std::vector<std::string>;

TEST(OfiSurroundings, OneNetworkHoldsTheWholeJob) {
  const std::vector<std::vector<std::byte>> job{rank_in("a/1", "0-3"), rank_in("a/1", "4-7")};
  for (std::size_t rank = 0; rank < job.size(); ++rank) {
    const JobLayout layout = layout_of(rank, job);
    EXPECT_TRUE(layout.all_here);
    EXPECT_EQ(layout.self, rank);
    EXPECT_EQ(cores_of(layout), (Texts{"0-3", "4-7"}));
  }
}

// The same kernel or the same number of a namespace is not the same network: both together are.
TEST(OfiSurroundings, HostsAndNamespacesAreToldApart) {
  const std::vector<std::vector<std::byte>> job{rank_in("a/1", "0"), rank_in("a/2", "1"),
                                                rank_in("b/1", "2"), rank_in("a/1", "3")};
  const JobLayout last = layout_of(3, job);
  EXPECT_FALSE(last.all_here);
  EXPECT_EQ(last.self, 1u);
  EXPECT_EQ(cores_of(last), (Texts{"0", "3"}));
  EXPECT_EQ(cores_of(layout_of(2, job)), Texts{"2"});
}

TEST(OfiSurroundings, PlacesArriveAsTheyAre) {
  const group::Location gpu{.pci = "0000:c1:00.0", .os_name = "hsn0", .cores = "0-7,16"};
  const group::Location there = layout_of(0, {introduce("a/1", gpu)}).users.at(0);
  EXPECT_EQ(there.pci, gpu.pci);
  EXPECT_EQ(there.os_name, gpu.os_name);
  EXPECT_EQ(there.cores, gpu.cores);
}

// The current GPU's address travels beside the cores, which count where nothing shows the GPU.
TEST(OfiSurroundings, AGpuStandsBeforeTheCores) {
  EXPECT_EQ(own_place("").pci, "");
  EXPECT_EQ(own_place("").cores, group::own_cores().cores);
  const group::Location there =
      layout_of(0, {introduce("a/1", own_place("0000:C1:00.0"))}).users.at(0);
  EXPECT_EQ(there.pci, "0000:C1:00.0");
  EXPECT_EQ(there.cores, group::own_cores().cores);
}

// Half a list of cores would be another place.
TEST(OfiSurroundings, WhatDoesNotFitIsUnknown) {
  std::string scattered = "0";
  for (int core = 2; core < 400; core += 2) scattered += "," + std::to_string(core);
  EXPECT_EQ(layout_of(0, {rank_in("a/1", scattered)}).users.at(0).cores, "");
}

}  // namespace
}  // namespace penstock::ofi
