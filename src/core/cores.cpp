// SPDX-License-Identifier: Apache-2.0
#include "core/cores.hpp"

#include <sched.h>

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

struct Place {
  char kernel[64] = {};
  cpu_set_t cores = usable();
};

bool overlap(const Place& one, const Place& other) noexcept {
  cpu_set_t common;
  CPU_AND(&common, &one.cores, &other.cores);
  return std::strcmp(one.kernel, other.kernel) == 0 && CPU_COUNT(&common) > 0;
}

}  // namespace

void Cores::share(group::World& world) {
  Place mine;
  const std::string kernel = group::kernel_identity();
  (kernel.empty() ? world.host() : kernel).copy(mine.kernel, sizeof mine.kernel - 1);
  const auto all = world.all_gather(std::as_bytes(std::span(&mine, 1)));
  processes_ = static_cast<int>(std::count_if(all.begin(), all.end(), [&](const std::vector<std::byte>& bytes) {
    Place other;
    std::memcpy(&other, bytes.data(), sizeof other);
    return overlap(mine, other);
  }));
}

int Cores::our_part() const noexcept {
  const cpu_set_t cores = usable();
  return CPU_COUNT(&cores) / processes_;
}

}  // namespace penstock::core
