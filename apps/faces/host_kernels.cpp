// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <stdexcept>

#include "faces/kernels.hpp"

namespace penstock::faces {
namespace {

// Calls use(place) for all places, in the order in which they lie.
template <class Use>
void for_each_place(const Layout& layout, Use&& use) {
  Place place;
  for (place.element[2] = 0; place.element[2] < layout.elements[2]; ++place.element[2])
    for (place.element[1] = 0; place.element[1] < layout.elements[1]; ++place.element[1])
      for (place.element[0] = 0; place.element[0] < layout.elements[0]; ++place.element[0])
        for (place.point[2] = 0; place.point[2] < layout.points[2]; ++place.point[2])
          for (place.point[1] = 0; place.point[1] < layout.points[1]; ++place.point[1])
            for (place.point[0] = 0; place.point[0] < layout.points[0]; ++place.point[0])
              use(place);
}

template <class Use>
void for_each_point(const Box& box, Use&& use) {
  int at[3];
  for (at[2] = box.low[2]; at[2] < box.low[2] + box.count[2]; ++at[2])
    for (at[1] = box.low[1]; at[1] < box.low[1] + box.count[1]; ++at[1])
      for (at[0] = box.low[0]; at[0] < box.low[0] + box.count[0]; ++at[0]) use(at);
}

class HostKernels final : public Kernels {
 public:
  explicit HostKernels(const Block& block)
      : block_(block),
        layout_(layout_of(block, nowhere)),
        memory_(apps::allocate(apps::DeviceKind::host, apps::Use::data,
                               layout_.size() * sizeof(double))),
        u_(memory_.as<double>().data()) {}

  void initialise(apps::Lane&) override {
    double* value = u_;
    for_each_place(layout_, [&](const Place& place) { *value++ = initial_value(block_, place); });
  }

  void pack(apps::Lane&, const Sides& to, int direction) override {
    for_each_neighbour(direction, [&](int one) {
      double* value = to.side[one];
      for_each_place(layout_of(block_, one), [&](const Place& place) {
        *value++ = u_[layout_.offset(on_side(block_, one, place))];
      });
    });
  }

  void sum_inside(apps::Lane&) override {
    for_each_point({{0, 0, 0}, {block_.elements[0], block_.elements[1], block_.elements[2]}},
                   [&](const int(&element)[3]) { sum_upper_sides(block_, u_, element); });
  }

  void unpack(apps::Lane&, const Sides& from, const Sides& next, int direction) override {
    for_each_neighbour(direction, [&](int one) {
      for_each_point(region_of(block_, one), [&](const int(&at)[3]) {
        complete(block_, u_, from, next, one, place_of(block_, at));
      });
    });
  }

  double* values() override { return u_; }
  void fetch_layer(int z, double* to) const override {
    const std::size_t values = layout_.size() / static_cast<std::size_t>(block_.elements[2]);
    std::memcpy(to, u_ + static_cast<std::size_t>(z) * values, values * sizeof(double));
  }

 private:
  template <class Use>
  void for_each_neighbour(int direction, Use&& use) const {
    for (int one = 0; one < directions; ++one)
      if (has_neighbour(block_, one) && (direction == nowhere || direction == one)) use(one);
  }

  Block block_;
  Layout layout_;
  apps::Memory memory_;
  double* u_;
};

}  // namespace

std::unique_ptr<Kernels> make_kernels(apps::DeviceKind device, const Block& block) {
  if (device == apps::DeviceKind::gpu) return make_gpu_kernels(block);
  return std::make_unique<HostKernels>(block);
}

#if !PENSTOCK_CUDA && !PENSTOCK_HIP
std::unique_ptr<Kernels> make_gpu_kernels(const Block&) {
  throw std::logic_error("this command is built without a GPU");
}
#endif

}  // namespace penstock::faces
