// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cg/kernels.hpp"

namespace penstock::cg::host {
namespace {

// Adds up in lanes of its own, so that the compiler may use vector instructions in a fixed order.
class Sum {
 public:
  void add_products(const double* a, const double* b, int count) {
    int i = 0;
    for (; i + lanes <= count; i += lanes)
      for (int lane = 0; lane < lanes; ++lane) of(lane) += a[i + lane] * b[i + lane];
    for (; i < count; ++i) of(0) += a[i] * b[i];
  }
  double total() const {
    double sum = 0;
    for (const double each : sums_) sum += each;
    return sum;
  }

 private:
  static constexpr int lanes = 8;
  double& of(int lane) { return sums_[static_cast<std::size_t>(lane)]; }
  std::array<double, lanes> sums_{};
};

template <class Row>
void for_rows(const Vectors& vectors, Row row) {
  for (int i = 0; i < vectors.extents[0]; ++i)
    for (int j = 0; j < vectors.extents[1]; ++j) row(vectors.padded(i, j), vectors.dense(i, j));
}

void multiply_row(const double* from, std::ptrdiff_t plane, std::ptrdiff_t row, int cells,
                  double* __restrict to) {
  for (int k = 0; k < cells; ++k) to[k] = matrix_row(from + k, plane, row);
}

// to += factor * from
void add_scaled(double factor, const double* from, int cells, double* __restrict to) {
  for (int k = 0; k < cells; ++k) to[k] += factor * from[k];
}

}  // namespace

void multiply(const Vectors& vectors) {
  if (vectors.state->converged != 0) return;
  const int cells = vectors.extents[2];
  Sum curvature;
  for_rows(vectors, [&](std::ptrdiff_t padded, std::ptrdiff_t dense) {
    const double* const from = vectors.direction + padded;
    double* const to = vectors.product + dense;
    multiply_row(from, vectors.plane, vectors.row, cells, to);
    curvature.add_products(from, to, cells);
  });
  vectors.state->own_curvature = curvature.total();
}

void step(const Vectors& vectors) {
  if (vectors.state->converged != 0) return;
  const int cells = vectors.extents[2];
  const double length = step_length(*vectors.state);
  Sum residual;
  for_rows(vectors, [&](std::ptrdiff_t padded, std::ptrdiff_t dense) {
    double* const own = vectors.residual + dense;
    add_scaled(length, vectors.direction + padded, cells, vectors.solution + dense);
    add_scaled(-length, vectors.product + dense, cells, own);
    residual.add_products(own, own, cells);
  });
  vectors.state->own_residual = residual.total();
}

void turn(const Vectors& vectors) {
  if (vectors.state->converged != 0) return;
  const int cells = vectors.extents[2];
  const double kept = kept_part(*vectors.state);
  for_rows(vectors, [&](std::ptrdiff_t padded, std::ptrdiff_t dense) {
    double* __restrict const direction = vectors.direction + padded;
    const double* const residual = vectors.residual + dense;
    for (int k = 0; k < cells; ++k) direction[k] = residual[k] + kept * direction[k];
  });
  end_iteration(*vectors.state);
}

}  // namespace penstock::cg::host
