// SPDX-License-Identifier: Apache-2.0
// In place of gpu/ in a build that has none: the command line has refused --device by then.
#include "common/gpu/gpu.hpp"

#if !PENSTOCK_CUDA && !PENSTOCK_HIP

#include <stdexcept>

namespace penstock::apps::gpu {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("this command is built without a GPU");
}

}  // namespace

void choose_device() {
  refuse();
}
Memory allocate(std::size_t) {
  refuse();
}
Memory allocate_pinned(std::size_t) {
  refuse();
}
void fetch(void*, const void*, std::size_t) {
  refuse();
}
std::unique_ptr<Lane> make_lane(bool) {
  refuse();
}
void enqueue_copy(void*, void*, const void*, std::size_t) {
  refuse();
}
bool mpi_takes_device_memory() {
  refuse();
}

}  // namespace penstock::apps::gpu

#endif
