// SPDX-License-Identifier: Apache-2.0
#include "common/gpu/check.hpp"
#include "common/memory.hpp"
#include "faces/gpu/kernels.hpp"
#include "faces/kernels.hpp"

namespace penstock::faces {
namespace {

// For all directions in which there is somebody, or for one of them.
template <class Size>
apps::gpu::Tasks make_tasks(const Block& block, int only, Size&& size_of) {
  apps::gpu::Tasks tasks{};
  for (int direction = 0; direction < directions; ++direction)
    if (has_neighbour(block, direction) && (only == nowhere || only == direction))
      tasks.add(direction, size_of(direction));
  return tasks;
}

cudaStream_t stream_of(const apps::Lane& lane) {
  return static_cast<cudaStream_t>(lane.gpu_stream());
}

class GpuKernels final : public Kernels {
 public:
  explicit GpuKernels(const Block& block)
      : block_(block),
        size_(layout_of(block, nowhere).size()),
        memory_(apps::allocate(apps::DeviceKind::gpu, apps::Use::data, size_ * sizeof(double))),
        u_(memory_.as<double>().data()) {
    for (int only = 0; only < directions; ++only) {
      packing_[only] = make_tasks(
          block, only, [&](int direction) { return layout_of(block, direction).size(); });
      unpacking_[only] = make_tasks(
          block, only, [&](int direction) { return region_of(block, direction).size(); });
    }
    gpu::load_kernels(block);
  }

  void initialise(apps::Lane& lane) override {
    CHECK_GPU(gpu::enqueue_initialise(stream_of(lane), block_, u_));
  }
  void pack(apps::Lane& lane, const Sides& to, int direction) override {
    CHECK_GPU(gpu::enqueue_pack(stream_of(lane), {block_, u_, to, {}, packing_[direction]}));
  }
  void sum_inside(apps::Lane& lane) override {
    CHECK_GPU(gpu::enqueue_sum_inside(stream_of(lane), block_, u_, is_downward_));
    is_downward_ = !is_downward_;
  }
  void unpack(apps::Lane& lane, const Sides& from, const Sides& next, int direction) override {
    CHECK_GPU(
        gpu::enqueue_unpack(stream_of(lane), {block_, u_, from, next, unpacking_[direction]}));
  }

  double* values() override { return u_; }
  void fetch_layer(int z, double* to) const override {
    const std::size_t values = size_ / static_cast<std::size_t>(block_.elements[2]);
    apps::fetch(apps::DeviceKind::gpu, to, u_ + static_cast<std::size_t>(z) * values,
                values * sizeof(double));
  }

 private:
  Block block_;
  std::size_t size_;
  apps::Memory memory_;
  double* u_;
  bool is_downward_ = false;
  // For each direction, and at `nowhere` for all.
  apps::gpu::Tasks packing_[directions];
  apps::gpu::Tasks unpacking_[directions];
};

}  // namespace

std::unique_ptr<Kernels> make_gpu_kernels(const Block& block) {
  return std::make_unique<GpuKernels>(block);
}

}  // namespace penstock::faces
