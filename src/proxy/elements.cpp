// SPDX-License-Identifier: Apache-2.0
#include "proxy/elements.hpp"

#include <limits>

#include "group/mpi_layout.hpp"
#include "proxy/mpi_call.hpp"

namespace penstock::proxy {

namespace {

constexpr std::size_t int_max = std::numeric_limits<int>::max();
constexpr std::size_t chunk = std::size_t{1} << 30;

}  // namespace

Elements::Elements(const transport::Message& message) : layout_(message.layout) {
  const auto* layout = dynamic_cast<const group::MpiLayout*>(message.layout.get());
  as_bytes_ = layout == nullptr || message.described();
  const MPI_Datatype type = as_bytes_ ? MPI_BYTE : layout->datatype();
  const std::size_t count = as_bytes_ ? message.bytes : static_cast<std::size_t>(layout->count());
  if (count <= int_max) {
    type_ = type;
    count_ = static_cast<int>(count);
  } else {
    combine(type, count);
  }
}

Elements::~Elements() {
  if (owned_) PMPI_Type_free(&type_);
}

// More elements than an int can count: one element of a type that holds whole chunks and the rest.
void Elements::combine(MPI_Datatype type, std::size_t count) {
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  check_mpi(PMPI_Type_get_extent(type, &low, &extent), "MPI_Type_get_extent");
  const auto chunks = static_cast<int>(count / chunk);
  MPI_Datatype parts[2] = {MPI_DATATYPE_NULL, type};
  check_mpi(PMPI_Type_contiguous(static_cast<int>(chunk), type, &parts[0]), "MPI_Type_contiguous");
  const int counts[2] = {chunks, static_cast<int>(count % chunk)};
  const MPI_Aint places[2] = {
      0, static_cast<MPI_Aint>(chunks) * static_cast<MPI_Aint>(chunk) * extent};
  const int made = PMPI_Type_create_struct(2, counts, places, parts, &type_);
  PMPI_Type_free(&parts[0]);
  check_mpi(made, "MPI_Type_create_struct");
  owned_ = true;
  check_mpi(PMPI_Type_commit(&type_), "MPI_Type_commit");
  count_ = 1;
}

}  // namespace penstock::proxy
