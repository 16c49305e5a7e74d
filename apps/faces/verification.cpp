// SPDX-License-Identifier: Apache-2.0
#include "faces/verification.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace penstock::faces {
namespace {

// One layer of elements, a row of elements at a time, by as many threads as a rank has cores.
class LayerCheck {
 public:
  LayerCheck(const Reference& reference, const Block& block, unsigned threads)
      : reference_(reference), block_(block), threads_(threads) {}

  Comparison check(const std::vector<double>& values, int z) const {
    std::vector<Comparison> rows(static_cast<std::size_t>(block_.elements[1]));
    {
      std::vector<std::jthread> workers;
      for (unsigned first = 0; first < threads_; ++first)
        workers.emplace_back([&, first] {
          for (std::size_t y = first; y < rows.size(); y += threads_)
            rows[y] = check_row(values, static_cast<int>(y), z);
        });
    }
    Comparison all;
    for (const Comparison& row : rows) add(all, row);
    return all;
  }

  static void add(Comparison& all, const Comparison& part) {
    const std::size_t compared = all.compared + part.compared;
    const std::size_t failed = all.failed + part.failed;
    if (all.failed == 0) all = part;
    all.compared = compared;
    all.failed = failed;
  }

 private:
  Comparison check_row(const std::vector<double>& layer, int y, int z) const {
    const std::size_t values = layer.size() / static_cast<std::size_t>(block_.elements[1]);
    const auto begin = layer.begin() + static_cast<std::ptrdiff_t>(values) * y;
    return compare(reference_,
                   std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(values)),
                   {block_.first[0], block_.first[1] + y, block_.first[2] + z},
                   {block_.elements[0], 1, 1}, block_.points);
  }

  const Reference& reference_;
  const Block& block_;
  unsigned threads_;
};

Comparison compare_block(const Kernels& kernels, const Reference& reference, const Block& block,
                         int ranks) {
  const unsigned threads =
      std::max(std::thread::hardware_concurrency() / static_cast<unsigned>(ranks), 1u);
  const LayerCheck check(reference, block, threads);
  const std::size_t layer_size =
      layout_of(block, nowhere).size() / static_cast<std::size_t>(block.elements[2]);
  std::vector<double> layer(layer_size);
  Comparison all;
  for (int z = 0; z < block.elements[2]; ++z) {
    kernels.fetch_layer(z, layer.data());
    LayerCheck::add(all, check.check(layer, z));
  }
  return all;
}

}  // namespace

bool verify(const Kernels& kernels, const Problem& problem, const Block& block, int shares,
            bool with_compute, const std::string& name, const tool::Session& session) {
  const Reference reference(problem.ranks, problem.elements, problem.points, shares, with_compute);
  Comparison mine = compare_block(kernels, reference, block, session.size());
  std::vector<Comparison> all(static_cast<std::size_t>(session.size()));
  MPI_Allgather(&mine, static_cast<int>(sizeof mine), MPI_BYTE, all.data(),
                static_cast<int>(sizeof mine), MPI_BYTE, MPI_COMM_WORLD);
  Comparison sum;
  for (const Comparison& one : all) LayerCheck::add(sum, one);
  if (sum.failed > 0 && session.is_root())
    fmt::print(stderr,
               "penstock: {}: {} of {} values differ from the reference "
               "after {} shares; the first is that of point ({}, {}, {}) "
               "of element ({}, {}, {}): {:.17g} instead of {:.17g}\n",
               name, sum.failed, sum.compared, shares, sum.point[0], sum.point[1], sum.point[2],
               sum.element[0], sum.element[1], sum.element[2], sum.value, sum.expected);
  return sum.failed == 0;
}

}  // namespace penstock::faces
