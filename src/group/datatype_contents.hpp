// SPDX-License-Identifier: Apache-2.0
// The call that a datatype was made by.
#pragma once

#include <mpi.h>

#include <vector>

#include "base/no_copy.hpp"

namespace penstock::group {

// MPI_COMBINER_*, by the call that it was made by. Both throw base::Error(mpi).
int combiner_of(MPI_Datatype datatype);
bool is_predefined(MPI_Datatype datatype);

class DatatypeContents : private base::NoCopy {
 public:
  // How many a walk over all that a datatype is made of looks at: one may hold another twice, that
  // one a third twice, and so on.
  static constexpr int most_looks = 1 << 18;

  explicit DatatypeContents(MPI_Datatype datatype);  // not of a predefined one; throws base::Error
  ~DatatypeContents();

  int combiner() const noexcept { return combiner_; }
  // The call's arguments in their order, without the datatypes; as large as they were given.
  const std::vector<MPI_Count>& numbers() const noexcept { return numbers_; }
  const std::vector<MPI_Datatype>& datatypes() const noexcept { return datatypes_; }

 private:
  int combiner_ = MPI_COMBINER_NAMED;
  std::vector<MPI_Count> numbers_;
  std::vector<MPI_Datatype> datatypes_;  // new handles where they are not predefined
};

}  // namespace penstock::group
