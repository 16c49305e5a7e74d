// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "comb/kernels.hpp"

namespace penstock::comb {
namespace {

template <class Use>
void for_each_place(const Box& box, Use&& use) {
  int at[3];
  for (at[2] = box.low[2]; at[2] < box.low[2] + box.count[2]; ++at[2])
    for (at[1] = box.low[1]; at[1] < box.low[1] + box.count[1]; ++at[1])
      for (at[0] = box.low[0]; at[0] < box.low[0] + box.count[0]; ++at[0]) use(at);
}

class HostKernels final : public Kernels {
 public:
  explicit HostKernels(const Mesh& mesh)
      : mesh_(mesh),
        memory_(apps::allocate(
            apps::DeviceKind::host, apps::Use::data,
            mesh.volume() * static_cast<std::size_t>(mesh.variables) * sizeof(double))),
        values_(memory_.as<double>().data()) {}

  void fill(apps::Lane&, int cycle) override {
    double* value = values_;
    for (int variable = 0; variable < mesh_.variables; ++variable)
      for_each_place(everything(), [&](const int(&at)[3]) {
        *value++ = value_before(mesh_, at, variable, cycle);
      });
  }

  void pack(apps::Lane&, const Sides& to, Group group) override {
    for_each_neighbour(group, [&](int one) {
      double* value = to.side[one];
      for_each_value(sent_box(mesh_, one), [&](double& here) { *value++ = here; });
    });
  }

  void unpack(apps::Lane&, const Sides& from, Group group) override {
    for_each_neighbour(group, [&](int one) {
      const double* value = from.side[one];
      for_each_value(ghost_box(mesh_, one), [&](double& here) { here = *value++; });
    });
  }

  void check(apps::Lane&, int cycle, bool with_messages) override {
    unsigned long long offset = 0;
    for (int variable = 0; variable < mesh_.variables; ++variable)
      for_each_place(everything(), [&](const int(&at)[3]) {
        if (values_[offset] != value_after(mesh_, at, variable, cycle, with_messages)) {
          ++tally_.wrong;
          tally_.first = std::min(tally_.first, offset);
        }
        ++offset;
      });
  }

  Tally take_tally() override { return std::exchange(tally_, nothing_wrong); }

  double* values() override { return values_; }

 private:
  Box everything() const {
    return {{0, 0, 0}, {mesh_.extent(0), mesh_.extent(1), mesh_.extent(2)}};
  }

  template <class Use>
  void for_each_neighbour(Group group, Use&& use) const {
    for (int one = 0; one < directions; ++one)
      if (has_neighbour(mesh_, one) && (group & group_of(one)) != 0) use(one);
  }

  // Of all variables, in the order of a message.
  template <class Use>
  void for_each_value(const Box& box, Use&& use) {
    for (int variable = 0; variable < mesh_.variables; ++variable) {
      double* const first = values_ + static_cast<std::size_t>(variable) * mesh_.volume();
      for_each_place(box, [&](const int(&at)[3]) { use(first[mesh_.offset(at)]); });
    }
  }

  Mesh mesh_;
  apps::Memory memory_;
  double* values_;
  Tally tally_ = nothing_wrong;
};

}  // namespace

std::unique_ptr<Kernels> make_kernels(apps::DeviceKind device, const Mesh& mesh) {
  if (device == apps::DeviceKind::gpu) return make_gpu_kernels(mesh);
  return std::make_unique<HostKernels>(mesh);
}

#if !PENSTOCK_CUDA && !PENSTOCK_HIP
std::unique_ptr<Kernels> make_gpu_kernels(const Mesh&) {
  throw std::logic_error("this command is built without a GPU");
}
#endif

}  // namespace penstock::comb
