// SPDX-License-Identifier: Apache-2.0
#include "jacobi/field.hpp"

#include <algorithm>

#include "jacobi/gpu/kernels.hpp"

namespace penstock::jacobi {
namespace {

using apps::DeviceKind;

// Written so that the compiler turns it into vector instructions.
void sweep_row(const double* now, const Block& block, double* __restrict next) {
  for (int k = 0; k < block.extents[2]; ++k) next[k] = average(now + k, block.plane, block.row);
}

double largest_change(const double* now, const double* next, int cells) {
  double largest = 0;
  for (int k = 0; k < cells; ++k) largest = std::max(largest, change_of(now[k], next[k]));
  return largest;
}

// The largest change, where it is asked for.
double sweep_block(const Block& from, double* to, bool checked) {
  double largest = 0;
  for (int i = 0; i < from.extents[0]; ++i) {
    for (int j = 0; j < from.extents[1]; ++j) {
      const std::ptrdiff_t at = i * from.plane + j * from.row;
      sweep_row(from.first + at, from, to + at);
      if (checked)
        largest = std::max(largest, largest_change(from.first + at, to + at, from.extents[2]));
    }
  }
  return largest;
}

std::size_t state_bytes(const Problem& problem) {
  return sizeof(State) +
         sizeof(double) * static_cast<std::size_t>(problem.iterations / problem.interval + 1);
}

halo::Index<3> with_ghosts(halo::Index<3> extents) {
  for (std::ptrdiff_t& extent : extents) extent += 2;
  return extents;
}

}  // namespace

Field::Field(const Problem& problem, const halo::Grid<3>& grid, DeviceKind device, apps::Lane& lane)
    : problem_(problem),
      grid_(grid),
      device_(device),
      lane_(lane),
      extents_(with_ghosts(grid.block())),
      array_cells_(static_cast<std::size_t>(extents_[0] * extents_[1] * extents_[2])),
      arrays_(apps::allocate(device, apps::Use::data, 2 * array_cells_ * sizeof(double))),
      state_(apps::allocate(device, apps::Use::messages, state_bytes(problem))) {
  for (std::size_t array : {0U, 1U}) {
    sweeps_[array] = [this, array] { sweep_array(array, false); };
    measured_sweeps_[array] = [this, array] { sweep_array(array, true); };
  }
#if PENSTOCK_CUDA || PENSTOCK_HIP
  if (device == DeviceKind::gpu) gpu::load();
#endif
}

void Field::load() {
  std::vector<double> array(array_cells_);
  const View view = halo::row_major<3>(array.data(), extents_);
  const auto first = grid_.first();
  const auto cells = grid_.cells();
  for (std::ptrdiff_t i = 0; i < extents_[0]; ++i) {
    for (std::ptrdiff_t j = 0; j < extents_[1]; ++j) {
      for (std::ptrdiff_t k = 0; k < extents_[2]; ++k) {
        const halo::Index<3> at{first[0] + i - 1, first[1] + j - 1, first[2] + k - 1};
        const bool is_low = at[0] < 0 || at[1] < 0 || at[2] < 0;
        const bool is_high = at[0] >= cells[0] || at[1] >= cells[1] || at[2] >= cells[2];
        view(i, j, k) = is_low ? low_side : is_high ? high_side : 0;
      }
    }
  }
  for (const std::size_t number : {0U, 1U}) {
    apps::store(device_, lane_, arrays_.as<double>().data() + number * array_cells_, array.data(),
                array_cells_ * sizeof(double));
  }
  const std::vector<std::byte> zeros(state_.bytes());
  apps::store(device_, lane_, state_.data(), zeros.data(), zeros.size());
}

Field::View Field::cells(int iterations) const noexcept {
  return halo::row_major<3>(arrays_.as<double>().data() + index(iterations) * array_cells_,
                            extents_);
}

Block Field::block(std::size_t array) const noexcept {
  const std::ptrdiff_t row = extents_[2];
  const std::ptrdiff_t plane = extents_[1] * row;
  double* const first = arrays_.as<double>().data() + array * array_cells_ + plane + row + 1;
  return {first,
          plane,
          row,
          {static_cast<int>(extents_[0] - 2), static_cast<int>(extents_[1] - 2),
           static_cast<int>(extents_[2] - 2)}};
}

void Field::sweep_array(std::size_t from, bool checked) {
  double* const to = block(1 - from).first;
#if PENSTOCK_CUDA || PENSTOCK_HIP
  if (device_ == DeviceKind::gpu)
    return gpu::sweep(lane_.gpu_stream(), block(from), to, state(), checked);
#endif
  if (state()->converged != 0) return;
  const double largest = sweep_block(block(from), to, checked);
  if (checked) state()->change = largest;
}

void Field::decide(int iterations) {
  apps::Lane::Kernel& kernel = iterations == problem_.interval ? decide_interval_ : decide_rest_;
  if (kernel == nullptr) {
    kernel = [this, iterations] {
#if PENSTOCK_CUDA || PENSTOCK_HIP
      if (device_ == DeviceKind::gpu)
        return gpu::decide(lane_.gpu_stream(), state(), problem_.tolerance, iterations);
#endif
      jacobi::decide(*state(), problem_.tolerance, iterations);
    };
  }
  lane_.launch(kernel);
}

void Field::set_largest(double largest) {
  apps::store(device_, lane_, &state()->largest, &largest, sizeof largest);
}

State Field::read_state() const {
  State state;
  apps::fetch(device_, &state, state_.data(), sizeof state);
  return state;
}

Progress Field::progress() const {
  const State state = read_state();
  std::vector<double> history(state.checks);
  const std::byte* const from = state_.data() + offsetof(State, history);
  apps::fetch(device_, history.data(), from, history.size() * sizeof(double));
  return {state.iterations, history};
}

std::vector<double> Field::read() const {
  std::vector<double> array(array_cells_);
  const std::size_t number = index(static_cast<int>(read_state().iterations));
  apps::fetch(device_, array.data(), arrays_.as<double>().data() + number * array_cells_,
              array_cells_ * sizeof(double));
  const View view = halo::row_major<3>(array.data(), extents_);
  std::vector<double> own;
  for (std::ptrdiff_t i = 1; i < extents_[0] - 1; ++i) {
    for (std::ptrdiff_t j = 1; j < extents_[1] - 1; ++j) {
      own.insert(own.end(), &view(i, j, 1), &view(i, j, 1) + extents_[2] - 2);
    }
  }
  return own;
}

}  // namespace penstock::jacobi
