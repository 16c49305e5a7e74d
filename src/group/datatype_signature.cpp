// SPDX-License-Identifier: Apache-2.0
#include "group/datatype_signature.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>

#include "group/mpi_check.hpp"

namespace penstock::group {

using datatype::ElementKind;
using datatype::Signature;

namespace {

std::uint64_t size_of(MPI_Datatype datatype) {
  MPI_Count size = 0;
  check_mpi(PMPI_Type_size_x(datatype, &size), "MPI_Type_size_x");
  return static_cast<std::uint64_t>(size);
}

// A handle that this MPI does not have is MPI_DATATYPE_NULL, which is no request's datatype.
bool is_one_of(MPI_Datatype datatype, std::initializer_list<MPI_Datatype> list) {
  return std::find(list.begin(), list.end(), datatype) != list.end();
}

// An MPI built without Fortran has no names for Fortran's types of given sizes.
bool is_sized_real(MPI_Datatype datatype) {
#ifdef MPI_REAL2
  if (datatype == MPI_REAL2) return true;
#endif
#ifdef MPI_REAL4
  if (datatype == MPI_REAL4) return true;
#endif
#ifdef MPI_REAL8
  if (datatype == MPI_REAL8) return true;
#endif
#ifdef MPI_REAL16
  if (datatype == MPI_REAL16) return true;
#endif
  return false;
}

bool is_sized_complex(MPI_Datatype datatype) {
#ifdef MPI_COMPLEX4
  if (datatype == MPI_COMPLEX4) return true;
#endif
#ifdef MPI_COMPLEX8
  if (datatype == MPI_COMPLEX8) return true;
#endif
#ifdef MPI_COMPLEX16
  if (datatype == MPI_COMPLEX16) return true;
#endif
#ifdef MPI_COMPLEX32
  if (datatype == MPI_COMPLEX32) return true;
#endif
  return false;
}

// Also what MPI_Type_create_f90_real and its like have made.
bool is_floating(MPI_Datatype datatype) {
  return is_sized_real(datatype) || combiner_of(datatype) == MPI_COMBINER_F90_REAL ||
         is_one_of(datatype,
                   {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION});
}

bool is_complex(MPI_Datatype datatype) {
  return is_sized_complex(datatype) || combiner_of(datatype) == MPI_COMBINER_F90_COMPLEX ||
         is_one_of(datatype, {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX,
                              MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
                              MPI_CXX_LONG_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX});
}

// Open MPI's alone.
bool is_pair_of_complex([[maybe_unused]] MPI_Datatype datatype) {
#ifdef MPI_2COMPLEX
  if (datatype == MPI_2COMPLEX) return true;
#endif
#ifdef MPI_2DOUBLE_COMPLEX
  if (datatype == MPI_2DOUBLE_COMPLEX) return true;
#endif
  return false;
}

Signature value_and_int(ElementKind kind, std::size_t bytes) {
  Signature pair(kind, bytes);
  pair.append(Signature(ElementKind::integer, sizeof(int)));
  return pair;
}

// What MPI_MINLOC and MPI_MAXLOC take; nothing: it is none of these.
std::optional<Signature> pair_of(MPI_Datatype datatype) {
  if (datatype == MPI_FLOAT_INT) return value_and_int(ElementKind::floating, sizeof(float));
  if (datatype == MPI_DOUBLE_INT) return value_and_int(ElementKind::floating, sizeof(double));
  if (datatype == MPI_LONG_DOUBLE_INT)
    return value_and_int(ElementKind::floating, sizeof(long double));
  if (datatype == MPI_LONG_INT) return value_and_int(ElementKind::integer, sizeof(long));
  if (datatype == MPI_SHORT_INT) return value_and_int(ElementKind::integer, sizeof(short));
  if (is_one_of(datatype, {MPI_2REAL, MPI_2DOUBLE_PRECISION}))
    return Signature(ElementKind::floating, size_of(datatype) / 2, 2);
  if (is_pair_of_complex(datatype))
    return Signature(ElementKind::floating, size_of(datatype) / 4, 4);
  if (is_one_of(datatype, {MPI_2INT, MPI_2INTEGER}))
    return Signature(ElementKind::integer, size_of(datatype) / 2, 2);
  return {};
}

}  // namespace

Signature signature_of_predefined(MPI_Datatype datatype) {
  const std::uint64_t size = size_of(datatype);
  if (size == 0) return {};
  if (is_one_of(datatype, {MPI_BYTE, MPI_PACKED})) return Signature::of_anything();
  if (is_floating(datatype)) return {ElementKind::floating, size};
  if (is_complex(datatype)) return {ElementKind::floating, size / 2, 2};
  if (const auto pair = pair_of(datatype)) return *pair;
  return {ElementKind::integer, size};
}

// All calls but MPI_Type_create_struct take one datatype, however they lay it out.
Signature signature_of_derived(const DatatypeContents& contents, MPI_Count size, ShapeParts parts) {
  if (contents.combiner() == MPI_COMBINER_STRUCT) {
    Signature all;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Signature part = parts[i]->signature;
      part.repeat(static_cast<std::uint64_t>(contents.numbers()[1 + i]));
      all.append(part);
    }
    return all;
  }
  if (parts.empty()) return Signature::of_anything();
  Signature signature = parts.front()->signature;
  const MPI_Count part = parts.front()->size;
  signature.repeat(part == 0 ? 0 : static_cast<std::uint64_t>(size / part));
  return signature;
}

}  // namespace penstock::group
