// SPDX-License-Identifier: Apache-2.0
#include "common/side_buffers.hpp"

namespace penstock::apps {
namespace {

constexpr std::size_t padding = 4096;

std::size_t padded(const Neighbour& neighbour) {
  return (neighbour.values * sizeof(double) + padding - 1) / padding * padding;
}

std::size_t bytes_for(const std::vector<Neighbour>& neighbours) {
  std::size_t bytes = 0;
  for (const Neighbour& neighbour : neighbours) bytes += padded(neighbour);
  return bytes;
}

}  // namespace

SideBuffers::SideBuffers(const std::vector<Neighbour>& neighbours,
                         const std::function<Memory(std::size_t)>& make)
    : memory_(make(bytes_for(neighbours))) {
  std::byte* at = memory_.data();
  for (const Neighbour& neighbour : neighbours) {
    sides_.side[neighbour.direction] = reinterpret_cast<double*>(at);
    at += padded(neighbour);
  }
}

SideBuffers message_buffers(const Options& options, const std::vector<Neighbour>& neighbours) {
  return {neighbours,
          [&](std::size_t bytes) { return allocate(options.device, Use::messages, bytes); }};
}

}  // namespace penstock::apps
