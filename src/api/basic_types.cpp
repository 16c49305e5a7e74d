// SPDX-License-Identifier: Apache-2.0
#include "api/basic_types.hpp"

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.hpp"

namespace penstock::api {

using base::Error;
using base::ErrorKind;
using transport::Element;
using transport::Reduction;

namespace {

template <class T>
BasicType number(MPI_Datatype type) {
  using enum Element;
  if constexpr (std::is_floating_point_v<T>)
    return {type, sizeof(T), sizeof(T) == 4 ? float32 : float64};
  else if constexpr (std::is_signed_v<T>)
    return {type, sizeof(T), sizeof(T) == 4 ? int32 : int64};
  else
    return {type, sizeof(T), sizeof(T) == 4 ? uint32 : uint64};
}
}  // namespace

const BasicType* basic_type(MPI_Datatype type) noexcept {
  static const BasicType types[] = {{MPI_BYTE, 1, {}},
                                    {MPI_CHAR, 1, {}},
                                    number<double>(MPI_DOUBLE),
                                    number<float>(MPI_FLOAT),
                                    number<int>(MPI_INT),
                                    number<unsigned>(MPI_UNSIGNED),
                                    number<long>(MPI_LONG),
                                    number<unsigned long>(MPI_UNSIGNED_LONG),
                                    number<long long>(MPI_LONG_LONG),
                                    number<unsigned long long>(MPI_UNSIGNED_LONG_LONG),
                                    number<std::int32_t>(MPI_INT32_T),
                                    number<std::uint32_t>(MPI_UINT32_T),
                                    number<std::int64_t>(MPI_INT64_T),
                                    number<std::uint64_t>(MPI_UINT64_T),
                                    number<MPI_Aint>(MPI_AINT),
                                    number<MPI_Offset>(MPI_OFFSET),
                                    number<MPI_Count>(MPI_COUNT)};
  for (const BasicType& known : types)
    if (known.type == type) return &known;
  return nullptr;
}

Element element_of(MPI_Datatype type, const char* what) {
  const BasicType* const known = basic_type(type);
  if (known == nullptr || !known->element)
    throw Error(ErrorKind::unsupported,
                std::string(what) + " takes integers and floating-point numbers of 4 or 8 bytes");
  return *known->element;
}

Reduction reduction_of(MPI_Op op, Element element, const char* what) {
  static const std::pair<MPI_Op, Reduction> reductions[] = {
      {MPI_SUM, Reduction::sum},     {MPI_PROD, Reduction::product}, {MPI_MIN, Reduction::min},
      {MPI_MAX, Reduction::max},     {MPI_BAND, Reduction::bit_and}, {MPI_BOR, Reduction::bit_or},
      {MPI_BXOR, Reduction::bit_xor}};
  for (const auto& [known, reduction] : reductions) {
    if (op != known) continue;
    const bool floating = element == Element::float32 || element == Element::float64;
    if (floating && reduction >= Reduction::bit_and)
      throw Error(ErrorKind::argument, "floating-point numbers have no bits to combine");
    return reduction;
  }
  throw Error(
      ErrorKind::unsupported,
      std::string(what) + " MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR and MPI_BXOR");
}

}  // namespace penstock::api
