// SPDX-License-Identifier: Apache-2.0
#include "core/cores.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "group/machine.hpp"

namespace penstock::core {
namespace {

cpu_set_t usable() noexcept {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  return cores;
}

struct CoreSet {
  char kernel[64] = {};
  cpu_set_t cores = usable();
};

bool overlap(const CoreSet& one, const CoreSet& other) noexcept {
  cpu_set_t common;
  CPU_AND(&common, &one.cores, &other.cores);
  return std::strcmp(one.kernel, other.kernel) == 0 && CPU_COUNT(&common) > 0;
}

}  // namespace

void Cores::share(group::World& world) {
  CoreSet mine;
  const std::string kernel = group::kernel_identity();
  (kernel.empty() ? world.host() : kernel).copy(mine.kernel, sizeof mine.kernel - 1);
  const auto all = world.all_gather(std::as_bytes(std::span(&mine, 1)));
  processes_ = static_cast<int>(
      std::count_if(all.begin(), all.end(), [&](const std::vector<std::byte>& bytes) {
        CoreSet other;
        std::memcpy(&other, bytes.data(), sizeof other);
        return overlap(mine, other);
      }));
}

int Cores::our_part() const noexcept {
  const cpu_set_t cores = usable();
  return CPU_COUNT(&cores) / processes_;
}

std::string Cores::only_core() const {
  const cpu_set_t cores = usable();
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (CPU_COUNT(&cores) != 1 || online < 2) return {};
  int core = 0;
  while (!CPU_ISSET(core, &cores)) ++core;
  return fmt::format(
      "this process may run on core {} alone, of {}{}: its threads and "
      "streams take turns there with each other and with whatever else "
      "runs there; give it more cores, or launch with --bind-to none",
      core, online, processes_ > 1 ? fmt::format(", which {} ranks share", processes_) : "");
}

}  // namespace penstock::core
