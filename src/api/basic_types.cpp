// SPDX-License-Identifier: Apache-2.0
#include "api/basic_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "api/half_types.hpp"
#include "base/error.hpp"

namespace penstock::api {

using transport::Combination;
using transport::Element;
using transport::Reduction;

namespace {

constexpr Family of_counts = Family::arithmetic | Family::bitwise;  // and of Fortran's integers
constexpr Family of_integers = of_counts | Family::logical;

Element integer_of(std::size_t bytes, bool is_signed) noexcept {
  using enum Element;
  constexpr Element with_sign[] = {int8, int16, int32, int64};
  constexpr Element without[] = {uint8, uint16, uint32, uint64};
  const int power = std::countr_zero(bytes);
  return is_signed ? with_sign[power] : without[power];
}

template <class T>
BasicType number(MPI_Datatype type, Family families = of_integers) {
  if constexpr (std::is_floating_point_v<T>)
    return {type, sizeof(T), sizeof(T) == 4 ? Element::float32 : Element::float64,
            Family::arithmetic};
  else
    return {type, sizeof(T), integer_of(sizeof(T), std::is_signed_v<T>), families};
}

// Without an allocation, as it is made on first use, which may be where nothing may be thrown.
class TypeList {
 public:
  void add(const BasicType& type) noexcept {
    if (type.type != MPI_DATATYPE_NULL) types_[count_++] = type;
  }
  auto begin() const noexcept { return types_.begin(); }
  auto end() const noexcept { return types_.begin() + count_; }

 private:
  std::array<BasicType, 40> types_{};
  std::ptrdiff_t count_ = 0;
};

// What the Fortran compiler makes of them, MPI says. One built without has none, or no names.
class FortranTypes {
 public:
  explicit FortranTypes(TypeList& all) : all_(all) {}
  void integer(MPI_Datatype type) {
    if (const std::size_t bytes = bytes_of(type); std::has_single_bit(bytes) && bytes <= 8)
      all_.add({type, bytes, integer_of(bytes, true), of_counts});
  }
  void real(MPI_Datatype type) {
    const std::size_t bytes = bytes_of(type);
    if (bytes == 4) all_.add(number<float>(type));
    if (bytes == 8) all_.add(number<double>(type));
  }

 private:
  static std::size_t bytes_of(MPI_Datatype type) {
    int bytes = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &bytes) != MPI_SUCCESS) return 0;
    return static_cast<std::size_t>(bytes);
  }

  TypeList& all_;
};

TypeList list_types() {
  TypeList all;
  for (const BasicType& type : {
           BasicType{MPI_BYTE, 1, Element::uint8, Family::bitwise},
           {MPI_CHAR, 1, Element::int8, Family::none},
           number<double>(MPI_DOUBLE),
           number<float>(MPI_FLOAT),
           number<int>(MPI_INT),
           number<unsigned>(MPI_UNSIGNED),
           number<long>(MPI_LONG),
           number<unsigned long>(MPI_UNSIGNED_LONG),
           number<long long>(MPI_LONG_LONG),
           number<unsigned long long>(MPI_UNSIGNED_LONG_LONG),
           number<short>(MPI_SHORT),
           number<unsigned short>(MPI_UNSIGNED_SHORT),
           number<signed char>(MPI_SIGNED_CHAR),
           number<unsigned char>(MPI_UNSIGNED_CHAR),
           number<std::int8_t>(MPI_INT8_T),
           number<std::uint8_t>(MPI_UINT8_T),
           number<std::int16_t>(MPI_INT16_T),
           number<std::uint16_t>(MPI_UINT16_T),
           number<std::int32_t>(MPI_INT32_T),
           number<std::uint32_t>(MPI_UINT32_T),
           number<std::int64_t>(MPI_INT64_T),
           number<std::uint64_t>(MPI_UINT64_T),
           number<MPI_Aint>(MPI_AINT, of_counts),
           number<MPI_Offset>(MPI_OFFSET, of_counts),
           number<MPI_Count>(MPI_COUNT, of_counts),
           number<bool>(MPI_C_BOOL, Family::logical),
           number<bool>(MPI_CXX_BOOL, Family::logical),
       })
    all.add(type);
  FortranTypes fortran(all);
  fortran.integer(MPI_INTEGER);
  fortran.real(MPI_REAL);
  fortran.real(MPI_DOUBLE_PRECISION);
#ifdef MPI_INTEGER1
  fortran.integer(MPI_INTEGER1);
#endif
#ifdef MPI_INTEGER2
  fortran.integer(MPI_INTEGER2);
#endif
#ifdef MPI_INTEGER4
  fortran.integer(MPI_INTEGER4);
#endif
#ifdef MPI_INTEGER8
  fortran.integer(MPI_INTEGER8);
#endif
#ifdef MPI_REAL4
  fortran.real(MPI_REAL4);
#endif
#ifdef MPI_REAL8
  fortran.real(MPI_REAL8);
#endif
  return all;
}

std::optional<BasicType> type_of(MPI_Datatype type) {
  if (const BasicType* const known = basic_type(type)) return *known;
  if (const auto half = half_type(type)) return BasicType{type, 2, *half, Family::arithmetic};
  return std::nullopt;
}

struct Operation {
  MPI_Op op;
  const char* name;
  std::optional<Reduction> reduction;
  Family family;
};

const Operation* operation_of(MPI_Op op) noexcept {
  using enum Reduction;
  using enum Family;
  static const Operation all[] = {
      {MPI_SUM, "MPI_SUM", sum, arithmetic},
      {MPI_PROD, "MPI_PROD", product, arithmetic},
      {MPI_MIN, "MPI_MIN", min, arithmetic},
      {MPI_MAX, "MPI_MAX", max, arithmetic},
      {MPI_LAND, "MPI_LAND", logical_and, logical},
      {MPI_LOR, "MPI_LOR", logical_or, logical},
      {MPI_LXOR, "MPI_LXOR", logical_xor, logical},
      {MPI_BAND, "MPI_BAND", bit_and, bitwise},
      {MPI_BOR, "MPI_BOR", bit_or, bitwise},
      {MPI_BXOR, "MPI_BXOR", bit_xor, bitwise},
      {MPI_REPLACE, "MPI_REPLACE", replace, arithmetic},
      {MPI_MINLOC, "MPI_MINLOC", std::nullopt, none},
      {MPI_MAXLOC, "MPI_MAXLOC", std::nullopt, none},
      {MPI_NO_OP, "MPI_NO_OP", std::nullopt, none},
  };
  const auto* const found =
      std::find_if(std::begin(all), std::end(all), [&](const auto& each) { return each.op == op; });
  return found == std::end(all) ? nullptr : found;
}

bool is_served(Taker taker, const BasicType& type, const Operation& operation) noexcept {
  const bool served =
      taker == Taker::accumulate ? type.bytes >= 4 : operation.reduction != Reduction::replace;
  return served && have(type.families, operation.family);
}

std::string name_of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return "MPI_DATATYPE_NULL";
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  if (PMPI_Type_get_name(type, name, &length) != MPI_SUCCESS || length == 0)
    return "a datatype of the program's";
  return name;
}

}  // namespace

const BasicType* basic_type(MPI_Datatype type) noexcept {
  static const TypeList types = list_types();
  for (const BasicType& known : types)
    if (known.type == type) return &known;
  return nullptr;
}

Combination combination_of(Taker taker, MPI_Datatype type, MPI_Op op) {
  const std::optional<BasicType> of = type_of(type);
  const Operation* const operation = operation_of(op);
  if (of && operation != nullptr && is_served(taker, *of, *operation))
    return {*operation->reduction, of->element};
  throw base::Error(
      base::ErrorKind::unsupported,
      fmt::format(
          "{} does not take {} of {}", taker == Taker::accumulate ? "an accumulate" : "a reduction",
          operation == nullptr ? "an operation of the program's" : operation->name, name_of(type)));
}

}  // namespace penstock::api
