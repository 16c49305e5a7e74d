// SPDX-License-Identifier: Apache-2.0
// Every operation of a reduction on every type, by each algorithm: the bits of a serial loop over
// the ranks where the algorithm says so, else the same bits on all ranks. All of them lie one
// behind the other in one buffer, so at every alignment, and are matched and run together.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <ostream>
#include <type_traits>

#include "conformance/collective_blocks.hpp"
#include "penstock/penstock.hpp"

namespace penstock::test {
namespace {

// ---- Numbers

// Of 16 bits; made from their definition, as the library is not.
template <int exponent_bits, int fraction_bits>
struct Half {
  std::uint16_t bits;

  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr unsigned infinity = 0x8000U - (1U << fraction_bits);

  static Half of(float value) {
    const unsigned sign = std::signbit(value) ? 0x8000U : 0;
    const float size = std::fabs(value);
    if (std::isnan(value)) return {static_cast<std::uint16_t>(infinity + 1)};
    if (size == 0) return {static_cast<std::uint16_t>(sign)};
    const int exponent = std::max(std::ilogb(size), 1 - bias);
    // Of halves of one exponent the bits count on, over to the next exponent.
    const float units = std::nearbyint(std::ldexp(size, fraction_bits - exponent));
    const unsigned above = static_cast<unsigned>(exponent + bias - 1) << fraction_bits;
    return {static_cast<std::uint16_t>(sign |
                                       std::min(above + static_cast<unsigned>(units), infinity))};
  }
  float value() const {
    const unsigned size = bits & 0x7fffU, fraction = size & ((1U << fraction_bits) - 1);
    const int exponent = static_cast<int>(size >> fraction_bits);
    if (size > infinity) return std::numeric_limits<float>::quiet_NaN();
    const unsigned units = exponent == 0 ? fraction : fraction + (1U << fraction_bits);
    const float positive =
        size == infinity
            ? std::numeric_limits<float>::infinity()
            : std::ldexp(static_cast<float>(units), std::max(exponent, 1) - bias - fraction_bits);
    return bits >= 0x8000U ? -positive : positive;
  }
};
using Float16 = Half<5, 10>;
using BFloat16 = Half<8, 7>;

template <class T>
constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// What values are combined as: halves as floats, rounded at the end.
template <class T>
auto wide(T value) {
  if constexpr (is_half<T>)
    return value.value();
  else
    return value;
}
template <class T, class Wide>
T narrow(Wide value) {
  if constexpr (is_half<T>)
    return T::of(value);
  else
    return value;
}

enum class Op { sum, prod, min, max, land, lor, lxor, band, bor, bxor };
constexpr Op every_op[] = {Op::sum, Op::prod, Op::min,  Op::max, Op::land,
                           Op::lor, Op::lxor, Op::band, Op::bor, Op::bxor};
MPI_Op mpi_op(Op op) {
  const MPI_Op all[] = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX, MPI_LAND,
                        MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
  return all[static_cast<std::size_t>(op)];
}

// NaN wins; -0 is less than 0.
template <class T>
T extreme(Op op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) == (op == Op::min) ? a : b;
  }
  return op == Op::min ? std::min(a, b) : std::max(a, b);
}

template <class T>
T apply(Op op, T a, T b) {
  if (op == Op::min || op == Op::max) return extreme(op, a, b);
  if constexpr (std::is_floating_point_v<T>) {
    return op == Op::sum ? a + b : a * b;
  } else {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    const bool p = a != 0, q = b != 0;
    const std::uint64_t results[] = {x + y,  x * y,  0,     0,     p && q,
                                     p || q, p != q, x & y, x | y, x ^ y};
    return static_cast<T>(results[static_cast<std::size_t>(op)]);
  }
}

// Sums and products of these differ with their order; of integers many are zero, of floating-point
// numbers some of a minimum are zero or NaN.
template <class T>
T value_of(Op op, int from, std::size_t index) {
  std::uint64_t mixed = (static_cast<std::uint64_t>(from) * 7919 + index + 1) * 0x9e3779b97f4a7c15U;
  mixed ^= mixed >> 29;
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(mixed % 3 == 0 ? 0 : mixed >> 5);
  } else {
    using Wide = decltype(wide(T{}));
    Wide value = (mixed % 2 == 0 ? -1 : 1) / static_cast<Wide>(1 + mixed % 997);
    if (op == Op::min || op == Op::max) {
      if (mixed % 7 == 0) value *= 0;
      if (mixed % 31 == 0) value = std::numeric_limits<Wide>::quiet_NaN();
    }
    return narrow<T>(value);
  }
}

// ---- One operation on one type

template <class T>
void fill(std::byte* to, Op op, int from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const T value = value_of<T>(op, from, i);
    std::memcpy(to + i * sizeof value, &value, sizeof value);
  }
}

template <class T>
bool is_expected(const std::byte* found, Op op, std::size_t index, bool in_order) {
  T value;
  std::memcpy(&value, found, sizeof value);
  auto all = wide(value_of<T>(op, 0, index));
  for (int from = 1; from < size(); ++from)
    all = apply(op, all, wide(value_of<T>(op, from, index)));
  const T expected = narrow<T>(all);
  if constexpr (!std::is_integral_v<T>) {
    if (std::isnan(wide(expected))) return std::isnan(wide(value));
    // Another order, and with it another rounding of halves at each level.
    if (!in_order && (op == Op::sum || op == Op::prod))
      return std::fabs(wide(value) - wide(expected)) <= decltype(all){0.03F};
  }
  return std::memcmp(&value, &expected, sizeof value) == 0;
}

template <class T>
std::size_t count_wrong(const std::byte* found, Op op, std::size_t first, std::size_t count,
                        bool in_order) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (!is_expected<T>(found + i * sizeof(T), op, first + i, in_order)) ++wrong;
  return wrong;
}

struct Trial {
  const char* type_name;
  MPI_Datatype type;
  std::size_t bytes;
  Op op;
  void (*fill)(std::byte* to, Op op, int from, std::size_t count);
  std::size_t (*count_wrong)(const std::byte* found, Op op, std::size_t first, std::size_t count,
                             bool in_order);
};

template <class T>
void add_trials(std::vector<Trial>& all, const char* name, MPI_Datatype type) {
  for (const Op op : every_op)
    if (std::is_integral_v<T> || op <= Op::max)
      all.push_back({name, type, sizeof(T), op, fill<T>, count_wrong<T>});
}

std::vector<Trial> every_trial() {
  std::vector<Trial> all;
  add_trials<std::int8_t>(all, "int8", MPI_INT8_T);
  add_trials<std::uint8_t>(all, "uint8", MPI_UINT8_T);
  add_trials<std::int16_t>(all, "int16", MPI_INT16_T);
  add_trials<std::uint16_t>(all, "uint16", MPI_UINT16_T);
  add_trials<std::int32_t>(all, "int32", MPI_INT32_T);
  add_trials<std::uint32_t>(all, "uint32", MPI_UINT32_T);
  add_trials<std::int64_t>(all, "int64", MPI_INT64_T);
  add_trials<std::uint64_t>(all, "uint64", MPI_UINT64_T);
  add_trials<Float16>(all, "float16", datatype(PST_TYPE_FLOAT16));
  add_trials<BFloat16>(all, "bfloat16", datatype(PST_TYPE_BFLOAT16));
  add_trials<float>(all, "float", MPI_FLOAT);
  add_trials<double>(all, "double", MPI_DOUBLE);
  return all;
}

// ---- All of them

struct Way {
  const char* algorithm;
  bool scatters;
  bool in_order;
};
void PrintTo(const Way& way, std::ostream* to) {
  *to << way.algorithm;
}

class CollectiveOperations : public ::testing::TestWithParam<Way> {
 protected:
  // The elements of each member's input, and of its output.
  static std::size_t inputs(std::size_t count) {
    return GetParam().scatters ? count * static_cast<std::size_t>(size()) : count;
  }
  // Whether they can be matched, which all members say alike.
  bool make(std::size_t count, bool in_place) {
    const std::size_t elements = inputs(count), results = in_place ? elements : count;
    std::size_t in_bytes = 0, out_bytes = 0;
    for (const Trial& each : trials_) {
      in_bytes += each.bytes * elements;
      out_bytes += each.bytes * results;
    }
    input_.emplace(in_place ? 0 : in_bytes, in_place);
    output_.emplace(out_bytes, in_place);
    requests_.clear();
    places_.clear();
    std::size_t in_at = 0, out_at = 0;
    for (const Trial& each : trials_) {
      places_.push_back(
          {in_place ? output_->data() + out_at : input_->data() + in_at, output_->data() + out_at});
      make_one(each, in_place ? MPI_IN_PLACE : input_->address() + in_at,
               output_->address() + out_at, count);
      in_at += each.bytes * elements;
      out_at += each.bytes * results;
    }
    const int code =
        PST_Matchall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    if (code == MPI_SUCCESS) return true;
    EXPECT_EQ(kind_of(code), PST_ERROR_UNSUPPORTED) << describe(code);
    return false;
  }
  void free_all() {
    for (MPI_Request& each : requests_) EXPECT_PST(PST_Request_free(&each));
  }
  void run(std::size_t count) {
    output_->clear();
    for (std::size_t i = 0; i < trials_.size(); ++i)
      trials_[i].fill(places_[i].from, trials_[i].op, rank(), inputs(count));
    input_->to_device();
    output_->to_device();
    Lane lane;
    EXPECT_PST(
        PST_Enqueue_runall(lane.queue(), static_cast<int>(requests_.size()), requests_.data()));
    lane.finish();
    input_->from_device();
    output_->from_device();
  }
  void check(std::size_t count) {
    const std::size_t first = GetParam().scatters ? static_cast<std::size_t>(rank()) * count : 0;
    for (std::size_t i = 0; i < trials_.size(); ++i)
      EXPECT_EQ(trials_[i].count_wrong(places_[i].to, trials_[i].op, first, count,
                                       GetParam().in_order || size() <= 2),
                0u)
          << trials_[i].type_name << ", operation " << static_cast<int>(trials_[i].op) << ", "
          << count << " elements";
    EXPECT_TRUE(input_->borders_hold() && output_->borders_hold());
    if (!GetParam().scatters) expect_alike();
  }

 private:
  struct Place {
    std::byte *from, *to;
  };

  void make_one(const Trial& trial, const void* from, std::byte* to, std::size_t count) {
    const AlgorithmInfo info(GetParam().algorithm);
    const auto make = GetParam().scatters ? PST_Reduce_scatter_block_init : PST_Allreduce_init;
    MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
    EXPECT_PST(make(from, to, static_cast<MPI_Count>(count), trial.type, mpi_op(trial.op),
                    MPI_COMM_WORLD, info.get(), &request));
  }
  void expect_alike() {
    std::vector<std::byte> first(output_->data(), output_->data() + output_->size());
    MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), output_->data()));
  }

  const std::vector<Trial> trials_ = every_trial();
  std::optional<GuardedBlock> input_, output_;
  std::vector<MPI_Request> requests_;
  std::vector<Place> places_;
};

TEST_P(CollectiveOperations, TakeEachType) {
  for (const std::size_t count : {0, 1, 7, 1023})
    for (const bool in_place : {false, true}) {
      if (make(count, in_place)) {
        run(count);
        check(count);
      }
      free_all();
    }
}
INSTANTIATE_TEST_SUITE_P(All, CollectiveOperations,
                         ::testing::Values(Way{"two-shot", false, true},
                                           Way{"one-shot", false, true},
                                           Way{"doubling", false, false},
                                           Way{"lanes", false, false},
                                           Way{"lanes-doubling", false, false},
                                           Way{"pairs", true, true}, Way{"direct", true, true}));

// ---- Names

struct NamedTypes {
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Op> ops;
};

// Of Fortran's types an MPI may have none: no name, or one without a size.
void add_if_there(std::vector<MPI_Datatype>& types, MPI_Datatype type) {
  int bytes = 0;
  if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &bytes) != MPI_SUCCESS || bytes == 0) return;
  types.push_back(type);
}

// What MPI lets its names have.
std::vector<NamedTypes> every_name() {
  const std::vector<MPI_Op> arithmetic{MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  const std::vector<MPI_Op> logical{MPI_LAND, MPI_LOR, MPI_LXOR};
  const std::vector<MPI_Op> bitwise{MPI_BAND, MPI_BOR, MPI_BXOR};
  const std::vector<MPI_Datatype> integers{
      MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT,  MPI_UNSIGNED_SHORT,
      MPI_INT,         MPI_UNSIGNED,      MPI_LONG,   MPI_UNSIGNED_LONG,
      MPI_LONG_LONG,   MPI_LONG_LONG_INT, MPI_INT8_T, MPI_UNSIGNED_LONG_LONG};
  std::vector<MPI_Datatype> sizes{MPI_AINT, MPI_OFFSET, MPI_COUNT};
  std::vector<MPI_Datatype> reals{MPI_FLOAT, MPI_DOUBLE};
  add_if_there(sizes, MPI_INTEGER);
  add_if_there(reals, MPI_REAL);
  add_if_there(reals, MPI_DOUBLE_PRECISION);
  return {{integers, arithmetic},  {integers, logical},  {integers, bitwise},
          {sizes, arithmetic},     {sizes, bitwise},     {reals, arithmetic},
          {{MPI_C_BOOL}, logical}, {{MPI_BYTE}, bitwise}};
}

TEST(CollectiveOperationNames, AreTaken) {
  std::vector<std::int64_t> data(64);
  std::vector<MPI_Request> requests;
  for (const NamedTypes& names : every_name())
    for (const MPI_Datatype type : names.types)
      for (const MPI_Op op : names.ops)
        EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, data.data(), 1, type, op, MPI_COMM_WORLD,
                                      MPI_INFO_NULL, &requests.emplace_back()));
  EXPECT_PST(PST_Matchall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  for (MPI_Request& each : requests) EXPECT_PST(PST_Request_free(&each));
}

TEST(CollectiveOperationNames, OfHalvesThereIsOneTypeEach) {
  const MPI_Datatype one = datatype(PST_TYPE_FLOAT16), other = datatype(PST_TYPE_BFLOAT16);
  EXPECT_NE(one, other);
  EXPECT_EQ(datatype(PST_TYPE_FLOAT16), one);
  for (const MPI_Datatype type : {one, other}) {
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    EXPECT_EQ(bytes, 2);
  }
}

}  // namespace
}  // namespace penstock::test
