// SPDX-License-Identifier: Apache-2.0
#include "comb/gpu/kernels.hpp"
#include "comb/kernels.hpp"
#include "common/gpu/check.hpp"

namespace penstock::comb {
namespace {

cudaStream_t stream_of(const apps::Lane& lane) {
  return static_cast<cudaStream_t>(lane.gpu_stream());
}

class GpuKernels final : public Kernels {
 public:
  explicit GpuKernels(const Mesh& mesh)
      : mesh_(mesh),
        memory_(apps::allocate(
            apps::DeviceKind::gpu, apps::Use::data,
            mesh.volume() * static_cast<std::size_t>(mesh.variables) * sizeof(double))),
        tally_(apps::allocate(apps::DeviceKind::gpu, apps::Use::data, sizeof(Tally))),
        values_(memory_.as<double>().data()),
        wrong_(tally_.as<unsigned long long>().data()) {
    for (int direction = 0; direction < directions; ++direction)
      if (has_neighbour(mesh, direction))
        sizes_[direction] =
            sent_box(mesh, direction).size() * static_cast<std::size_t>(mesh.variables);
    gpu::load_kernels();
    reset();
  }

  void fill(apps::Lane& lane, int cycle) override {
    CHECK_GPU(gpu::enqueue_fill(stream_of(lane), mesh_, values_, cycle));
  }
  void pack(apps::Lane& lane, const Sides& to, Group group) override {
    CHECK_GPU(gpu::enqueue_pack(stream_of(lane), {mesh_, values_, to, tasks_of(group)}));
  }
  void unpack(apps::Lane& lane, const Sides& from, Group group) override {
    CHECK_GPU(gpu::enqueue_unpack(stream_of(lane), {mesh_, values_, from, tasks_of(group)}));
  }
  void check(apps::Lane& lane, int cycle, bool with_messages) override {
    CHECK_GPU(gpu::enqueue_check(stream_of(lane), mesh_, values_, cycle, with_messages, wrong_));
  }

  double* values() override { return values_; }

  Tally take_tally() override {
    Tally tally{};
    CHECK_GPU(cudaMemcpy(&tally, wrong_, sizeof tally, cudaMemcpyDefault));
    reset();
    return tally;
  }

 private:
  apps::gpu::Tasks tasks_of(Group group) const {
    apps::gpu::Tasks tasks{};
    for (int direction = 0; direction < directions; ++direction)
      if (sizes_[direction] > 0 && (group & group_of(direction)) != 0)
        tasks.add(direction, sizes_[direction]);
    return tasks;
  }

  // The copy has ended when the call returns; what stands in other streams has to see it.
  void reset() {
    CHECK_GPU(cudaMemcpy(wrong_, &nothing_wrong, sizeof nothing_wrong, cudaMemcpyDefault));
    CHECK_GPU(cudaDeviceSynchronize());
  }

  Mesh mesh_;
  apps::Memory memory_;
  apps::Memory tally_;
  double* values_;
  unsigned long long* wrong_;
  std::size_t sizes_[directions] = {};  // values of each message, 0 where there is nobody
};

}  // namespace

std::unique_ptr<Kernels> make_gpu_kernels(const Mesh& mesh) {
  return std::make_unique<GpuKernels>(mesh);
}

}  // namespace penstock::comb
