// SPDX-License-Identifier: Apache-2.0
#include "api/half_types.hpp"

#include <fmt/format.h>

#include <mutex>

#include "api/errors.hpp"
#include "base/error.hpp"
#include "core/library.hpp"
#include "group/mpi_check.hpp"
#include "penstock/penstock.h"

namespace penstock::api {

using transport::Element;

namespace {

// For MPI they are two bytes, which it moves and does not combine.
struct HalfType {
  PST_Type kind;
  const char* name;
  Element element;
  MPI_Datatype made = MPI_DATATYPE_NULL;

  MPI_Datatype get() {
    if (made != MPI_DATATYPE_NULL) return made;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    group::check_mpi(PMPI_Type_contiguous(2, MPI_BYTE, &type), "MPI_Type_contiguous");
    PMPI_Type_set_name(type, name);
    group::check_mpi(PMPI_Type_commit(&type), "MPI_Type_commit");
    return made = type;
  }
};

std::mutex half_mutex;
HalfType half_types[] = {{PST_TYPE_FLOAT16, "PST_TYPE_FLOAT16", Element::float16},
                         {PST_TYPE_BFLOAT16, "PST_TYPE_BFLOAT16", Element::bfloat16}};

MPI_Datatype get_half_type(PST_Type kind) {
  const std::lock_guard lock(half_mutex);
  for (HalfType& each : half_types)
    if (each.kind == kind) return each.get();
  throw base::Error(base::ErrorKind::argument,
                    fmt::format("{} is no PST_Type", static_cast<int>(kind)));
}

}  // namespace

std::optional<Element> half_type(MPI_Datatype type) {
  const std::lock_guard lock(half_mutex);
  for (const HalfType& each : half_types)
    if (type != MPI_DATATYPE_NULL && each.made == type) return each.element;
  return std::nullopt;
}

void free_half_types() noexcept {
  for (HalfType& each : half_types)
    if (each.made != MPI_DATATYPE_NULL) PMPI_Type_free(&each.made);
}

}  // namespace penstock::api

int PST_Type_get(PST_Type kind, MPI_Datatype* type) {
  using namespace penstock;
  return api::guard([&](core::Library&) {
    api::require_pointer(type, "type");
    *type = api::get_half_type(kind);
  });
}
