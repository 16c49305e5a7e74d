// SPDX-License-Identifier: Apache-2.0
// What the sweeps of a rank share, and their arithmetic: the same on hosts and on GPUs, and in the
// reference.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define PENSTOCK_JACOBI_BOTH __host__ __device__
#else
#define PENSTOCK_JACOBI_BOTH
#endif

namespace penstock::jacobi {

inline constexpr double low_side = 100;  // beyond the sides where an index would be negative
inline constexpr double high_side = 0;   // beyond the others

// A block of cells in an array with ghosts; `first` is its first own cell, the last dimension is
// dense.
struct Block {
  double* first;
  std::ptrdiff_t plane;
  std::ptrdiff_t row;
  int extents[3];
};

// Lies where the sweeps run.
struct State {
  double change;            // the largest of this rank's cells
  double largest;           // of all ranks
  std::uint64_t converged;  // from then on nothing changes any more
  std::uint64_t iterations;
  std::uint64_t checks;
  double history[1];  // `largest` of each check; the memory goes on behind it
};

// The mean of a cell and its 26 neighbours. No product is followed by a sum, so that no compiler
// can round differently.
PENSTOCK_JACOBI_BOTH inline double average(const double* cell, std::ptrdiff_t plane,
                                           std::ptrdiff_t row) {
  double sum = 0;
  for (int i = -1; i <= 1; ++i) {
    for (int j = -1; j <= 1; ++j) {
      for (int k = -1; k <= 1; ++k) sum += cell[i * plane + j * row + k];
    }
  }
  return sum / 27;
}

PENSTOCK_JACOBI_BOTH inline double change_of(double before, double after) {
  return after > before ? after - before : before - after;
}

// The end of a check, after `iterations` more.
PENSTOCK_JACOBI_BOTH inline void decide(State& state, double tolerance, int iterations) {
  state.change = 0;
  if (state.converged != 0) return;
  state.history[state.checks++] = state.largest;
  state.iterations += static_cast<std::uint64_t>(iterations);
  if (state.largest < tolerance) state.converged = 1;
}

}  // namespace penstock::jacobi
