// SPDX-License-Identifier: Apache-2.0
#include "agreement.hpp"

#include <algorithm>

namespace penstock::halo {
namespace {

using penstock::detail::check;

struct Problem {
  int code = MPI_SUCCESS;
  int kind = PST_ERROR_NONE;
  std::string text;
};

Problem problem_of(const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& error) {
    return {error.code(), error.kind(), error.what()};
  } catch (const std::bad_alloc&) {
    return {MPI_ERR_OTHER, PST_ERROR_RESOURCES, "penstock::halo: out of memory"};
  } catch (const std::exception& error) {
    return {MPI_ERR_OTHER, PST_ERROR_INTERNAL, error.what()};
  }
  return {};
}

// The lowest rank that says so, or -1.
int first_rank(MPI_Comm comm, bool here) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int first = here ? rank : size;
  check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  return first < size ? first : -1;
}

std::string text_of(MPI_Comm comm, int root, std::string text) {
  auto length = static_cast<int>(text.size());
  check(MPI_Bcast(&length, 1, MPI_INT, root, comm), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(length));
  check(MPI_Bcast(text.data(), length, MPI_CHAR, root, comm), "MPI_Bcast");
  return text;
}

}  // namespace

void refuse(const std::string& text) {
  throw Error(MPI_ERR_ARG, PST_ERROR_ARGUMENT, "penstock::halo: " + text);
}

void together(MPI_Comm comm, const std::function<void()>& step) {
  const Problem mine = problem_of(step);
  const int first = first_rank(comm, mine.code != MPI_SUCCESS);
  if (first < 0) return;
  int kind = mine.kind;
  check(MPI_Bcast(&kind, 1, MPI_INT, first, comm), "MPI_Bcast");
  const std::string text = text_of(comm, first, mine.text);
  // Codes of errors beyond MPI's own classes are known to the rank that made them alone.
  const int code = mine.code != MPI_SUCCESS     ? mine.code
                   : kind == PST_ERROR_ARGUMENT ? MPI_ERR_ARG
                                                : MPI_ERR_OTHER;
  throw Error(code, static_cast<PST_Error>(kind),
              text + " (found by rank " + std::to_string(first) + ")");
}

void expect_same(MPI_Comm comm, const std::string& text) {
  const std::string expected = text_of(comm, 0, text);
  together(comm, [&] {
    if (text != expected)
      refuse("the ranks disagree: this one has " + text + ", rank 0 has " + expected);
  });
}

}  // namespace penstock::halo
