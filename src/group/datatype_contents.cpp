// SPDX-License-Identifier: Apache-2.0
#include "group/datatype_contents.hpp"

#include <cstddef>

#include "base/error.hpp"
#include "group/mpi_check.hpp"

namespace penstock::group {

namespace {

struct Envelope {
  MPI_Count integers = 0, addresses = 0, counts = 0, datatypes = 0;
  int combiner = MPI_COMBINER_NAMED;
};

Envelope envelope_of(MPI_Datatype datatype) {
  Envelope result;
#if MPI_VERSION >= 4
  check_mpi(PMPI_Type_get_envelope_c(datatype, &result.integers, &result.addresses, &result.counts,
                                     &result.datatypes, &result.combiner),
            "MPI_Type_get_envelope_c");
#else
  int integers = 0, addresses = 0, datatypes = 0;
  check_mpi(PMPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &result.combiner),
            "MPI_Type_get_envelope");
  result.integers = integers;
  result.addresses = addresses;
  result.datatypes = datatypes;
#endif
  return result;
}

bool predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

// Where the large form of a call has counts among integers, they stand behind so many integers.
std::size_t integers_before_counts(int combiner) {
  if (combiner == MPI_COMBINER_SUBARRAY) return 1;
  return combiner == MPI_COMBINER_DARRAY ? 3 : 0;
}

}  // namespace

int combiner_of(MPI_Datatype datatype) {
  return envelope_of(datatype).combiner;
}

bool is_predefined(MPI_Datatype datatype) {
  return predefined(combiner_of(datatype));
}

DatatypeContents::DatatypeContents(MPI_Datatype datatype) {
  const Envelope envelope = envelope_of(datatype);
  combiner_ = envelope.combiner;
  std::vector<int> integers(static_cast<std::size_t>(envelope.integers));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses));
  std::vector<MPI_Count> counts(static_cast<std::size_t>(envelope.counts));
  datatypes_.assign(static_cast<std::size_t>(envelope.datatypes), MPI_DATATYPE_NULL);
  // All memory before MPI gives handles that a destructor has to free.
  numbers_.reserve(integers.size() + addresses.size() + counts.size());
#if MPI_VERSION >= 4
  check_mpi(PMPI_Type_get_contents_c(datatype, envelope.integers, envelope.addresses,
                                     envelope.counts, envelope.datatypes, integers.data(),
                                     addresses.data(), counts.data(), datatypes_.data()),
            "MPI_Type_get_contents_c");
#else
  check_mpi(PMPI_Type_get_contents(datatype, static_cast<int>(envelope.integers),
                                   static_cast<int>(envelope.addresses),
                                   static_cast<int>(envelope.datatypes), integers.data(),
                                   addresses.data(), datatypes_.data()),
            "MPI_Type_get_contents");
#endif
  numbers_.assign(integers.begin(), integers.end());
  const auto place = static_cast<std::ptrdiff_t>(
      counts.empty() ? integers.size() : integers_before_counts(combiner_));
  numbers_.insert(numbers_.begin() + place, counts.begin(), counts.end());
  numbers_.insert(numbers_.end(), addresses.begin(), addresses.end());
}

DatatypeContents::~DatatypeContents() {
  for (MPI_Datatype& datatype : datatypes_) {
    try {
      if (datatype != MPI_DATATYPE_NULL && !is_predefined(datatype)) PMPI_Type_free(&datatype);
    } catch (const base::Error&) {  // MPI keeps it until its end
    }
  }
}

}  // namespace penstock::group
