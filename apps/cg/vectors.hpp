// SPDX-License-Identifier: Apache-2.0
// What the kernels of a rank work on, and their arithmetic: the same on hosts and on GPUs, and in
// the reference.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define PENSTOCK_CG_BOTH __host__ __device__
#else
#define PENSTOCK_CG_BOTH
#endif

namespace penstock::cg {

// Lies where the kernels run. A product of two vectors is that of this rank's cells (`own_...`), or
// of all ranks', after these have been added up.
struct State {
  double own_curvature;  // p . A p
  double curvature;
  double own_residual;  // r . r
  double next_residual;
  double residual;          // of the iteration before
  double target;            // the end is where the residual is not above it
  std::uint64_t converged;  // from then on nothing changes any more
  std::uint64_t iterations;
  unsigned int blocks_done;  // of the kernel of a GPU that runs
  double history[1];         // the residual of each iteration; the memory goes on behind it
};

// The direction has a layer of ghosts around its cells; the others are dense, in the same order.
struct Vectors {
  int extents[3];
  std::ptrdiff_t plane;  // of the direction
  std::ptrdiff_t row;
  double* direction;  // its first own cell
  double* product;    // A times the direction
  double* residual;
  double* solution;
  State* state;
  double* sums;  // of the blocks of a kernel of a GPU

  PENSTOCK_CG_BOTH std::ptrdiff_t padded(int i, int j) const { return i * plane + j * row; }
  PENSTOCK_CG_BOTH std::ptrdiff_t dense(int i, int j) const {
    return (static_cast<std::ptrdiff_t>(i) * extents[1] + j) * extents[2];
  }
};

// 26 times the cell less its 26 neighbours.
PENSTOCK_CG_BOTH inline double matrix_row(const double* cell, std::ptrdiff_t plane,
                                          std::ptrdiff_t row) {
  double sum = 0;
  for (int i = -1; i <= 1; ++i) {
    for (int j = -1; j <= 1; ++j) {
      for (int k = -1; k <= 1; ++k) sum += cell[i * plane + j * row + k];
    }
  }
  return 27 * *cell - sum;
}

PENSTOCK_CG_BOTH inline double step_length(const State& state) {
  return state.residual / state.curvature;
}

// How much of the old direction stays in the new one.
PENSTOCK_CG_BOTH inline double kept_part(const State& state) {
  return state.next_residual / state.residual;
}

PENSTOCK_CG_BOTH inline void end_iteration(State& state) {
  state.residual = state.next_residual;
  state.history[state.iterations++] = state.residual;
  if (state.residual <= state.target) state.converged = 1;
}

}  // namespace penstock::cg
