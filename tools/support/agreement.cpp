// SPDX-License-Identifier: Apache-2.0
#include "support/agreement.hpp"

#include <mpi.h>

#include <string>

#include "support/session.hpp"

namespace penstock::tool {
namespace {

// What went wrong; empty when nothing did.
std::string try_step(const std::function<void()>& step) {
  try {
    step();
    return "";
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return text.empty() ? "failed" : text;
  }
}

std::string broadcast(std::string text, int root) {
  auto size = static_cast<int>(text.size());
  MPI_Bcast(&size, 1, MPI_INT, root, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(size));
  MPI_Bcast(text.data(), size, MPI_CHAR, root, MPI_COMM_WORLD);
  return text;
}

}  // namespace

void together(const std::function<void()>& step) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string mine = try_step(step);
  const int failed = mine.empty() ? size : rank;
  int first = size;
  MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == size) return;
  throw UserError("rank " + std::to_string(first) + ": " + broadcast(mine, first));
}

}  // namespace penstock::tool
