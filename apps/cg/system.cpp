// SPDX-License-Identifier: Apache-2.0
#include "cg/system.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>

#include "cg/kernels.hpp"

namespace penstock::cg {
namespace {

using apps::DeviceKind;

std::size_t number_of(const halo::Index<3>& extents) {
  return static_cast<std::size_t>(extents[0] * extents[1] * extents[2]);
}

halo::Index<3> padded(halo::Index<3> extents) {
  for (std::ptrdiff_t& extent : extents) extent += 2;
  return extents;
}

std::size_t state_bytes(const Problem& problem) {
  return sizeof(State) + sizeof(double) * static_cast<std::size_t>(problem.iterations);
}

std::size_t sums_of_blocks(DeviceKind device, const halo::Index<3>& block) {
#if PENSTOCK_CUDA || PENSTOCK_HIP
  if (device == DeviceKind::gpu)
    return gpu::most_blocks(
        {static_cast<int>(block[0]), static_cast<int>(block[1]), static_cast<int>(block[2])});
#endif
  (void)device;
  (void)block;
  return 0;
}

}  // namespace

double right_side(const halo::Index<3>& cell, const halo::Index<3>& cells) {
  std::ptrdiff_t present = 1;
  for (std::size_t d = 0; d < 3; ++d)
    present *= std::min(cell[d] + 1, cells[d] - 1) - std::max<std::ptrdiff_t>(cell[d] - 1, 0) + 1;
  return static_cast<double>(27 - present);
}

System::System(const Problem& problem, const halo::Grid<3>& grid, DeviceKind device,
               apps::Lane& lane)
    : problem_(problem),
      grid_(grid),
      device_(device),
      lane_(lane),
      extents_(padded(grid.block())),
      cells_(number_of(grid.block())),
      direction_(apps::allocate(device, apps::Use::data, number_of(extents_) * sizeof(double))),
      dense_(apps::allocate(device, apps::Use::data, 3 * cells_ * sizeof(double))),
      state_(apps::allocate(device, apps::Use::messages, state_bytes(problem))),
      sums_(apps::allocate(device, apps::Use::data,
                           sums_of_blocks(device, grid.block()) * sizeof(double))),
      vectors_(make_vectors()) {
  make_kernels();
}

Vectors System::make_vectors() const noexcept {
  const std::ptrdiff_t row = extents_[2];
  const std::ptrdiff_t plane = extents_[1] * row;
  double* const dense = dense_.as<double>().data();
  return {{static_cast<int>(extents_[0] - 2), static_cast<int>(extents_[1] - 2),
           static_cast<int>(extents_[2] - 2)},
          plane,
          row,
          direction_.as<double>().data() + plane + row + 1,
          dense,
          dense + cells_,
          dense + 2 * cells_,
          reinterpret_cast<State*>(state_.data()),
          sums_.as<double>().data()};
}

void System::make_kernels() {
#if PENSTOCK_CUDA || PENSTOCK_HIP
  if (device_ == DeviceKind::gpu) {
    gpu::load();
    multiply_ = [this] { gpu::multiply(lane_.gpu_stream(), vectors_); };
    step_ = [this] { gpu::step(lane_.gpu_stream(), vectors_); };
    turn_ = [this] { gpu::turn(lane_.gpu_stream(), vectors_); };
    return;
  }
#endif
  multiply_ = [this] { host::multiply(vectors_); };
  step_ = [this] { host::step(vectors_); };
  turn_ = [this] { host::turn(vectors_); };
}

// x is zero, so the first residual is b, and the first direction too. The squares of whole numbers
// are added up exactly, in any order.
void System::load() {
  const std::vector<double> right = own_right_side();
  double squares = 0;
  for (const double each : right) squares += each * each;
  MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, grid_.comm());
  first_residual_ = squares;
  State first{};
  first.residual = squares;
  first.target = target();
  first.converged = squares <= target() ? 1 : 0;
  const std::vector<double> direction = with_ghosts(right);
  const std::vector<double> zeros(cells_);
  apps::store(device_, lane_, direction_.data(), direction.data(), direction_.bytes());
  apps::store(device_, lane_, vectors_.residual, right.data(), cells_ * sizeof(double));
  apps::store(device_, lane_, vectors_.solution, zeros.data(), cells_ * sizeof(double));
  apps::store(device_, lane_, state_.data(), &first, sizeof first);
}

halo::View<double, 3> System::direction() const noexcept {
  return halo::row_major<3>(direction_.as<double>().data(), extents_);
}

History System::history() const {
  State state;
  apps::fetch(device_, &state, state_.data(), sizeof state);
  History history(state.iterations);
  apps::fetch(device_, history.data(), state_.data() + offsetof(State, history),
              history.size() * sizeof(double));
  return history;
}

std::vector<double> System::solution() const {
  std::vector<double> solution(cells_);
  apps::fetch(device_, solution.data(), vectors_.solution, cells_ * sizeof(double));
  return solution;
}

std::vector<double> System::own_right_side() const {
  std::vector<double> right;
  right.reserve(cells_);
  const auto first = grid_.first();
  const auto block = grid_.block();
  for (std::ptrdiff_t i = 0; i < block[0]; ++i) {
    for (std::ptrdiff_t j = 0; j < block[1]; ++j) {
      for (std::ptrdiff_t k = 0; k < block[2]; ++k)
        right.push_back(right_side({first[0] + i, first[1] + j, first[2] + k}, grid_.cells()));
    }
  }
  return right;
}

std::vector<double> System::with_ghosts(const std::vector<double>& cells) const {
  std::vector<double> array(number_of(extents_));
  const auto to = halo::row_major<3>(array.data(), extents_);
  const auto block = grid_.block();
  const double* from = cells.data();
  for (std::ptrdiff_t i = 1; i <= block[0]; ++i) {
    for (std::ptrdiff_t j = 1; j <= block[1]; ++j, from += block[2])
      std::copy_n(from, block[2], &to(i, j, 1));
  }
  return array;
}

}  // namespace penstock::cg
