// SPDX-License-Identifier: Apache-2.0
// Random nested datatypes, several of one signature: by every constructor of MPI, with gaps,
// negative bounds and strides, blocks of no elements and blocks in any order.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <random>
#include <vector>

namespace penstock::test {

// What messages carry: these, so many times.
struct Signature {
  std::vector<MPI_Datatype> basics;
  int count = 1;
};

class RandomDatatypes {
 public:
  explicit RandomDatatypes(std::uint64_t seed) : random_(seed) {}

  Signature signature(int most);
  // A committed datatype of that signature, no byte of which lies in two places. To be freed.
  MPI_Datatype datatype(const Signature& signature);
  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  int from_to(int first, int last) { return first + below(last - first + 1); }

 private:
  std::mt19937_64 random_;
};

// Room for a message of `count` elements, from the buffer's address on. MPICH 4.0 takes the true
// lower bound of a darray of elements with a lower bound of their own too low.
struct Reach {
  MPI_Aint first = 0, end = 0;
};
Reach reach_of(MPI_Datatype datatype, int count);

}  // namespace penstock::test
