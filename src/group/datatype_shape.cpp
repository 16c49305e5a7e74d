// SPDX-License-Identifier: Apache-2.0
#include "group/datatype_shape.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/no_copy.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_handle.hpp"

namespace penstock::group {

namespace {

struct TypeEnvelope {
  int integers = 0, addresses = 0, datatypes = 0, combiner = MPI_COMBINER_NAMED;
  bool large = false;  // made with counts that may not fit an int: MPI_Type_get_contents does not
                       // describe it
};

TypeEnvelope envelope_of(MPI_Datatype datatype) {
  TypeEnvelope result;
#if MPI_VERSION >= 4
  MPI_Count integers = 0, addresses = 0, counts = 0, datatypes = 0;
  check_mpi(PMPI_Type_get_envelope_c(datatype, &integers, &addresses, &counts, &datatypes,
                                     &result.combiner),
            "MPI_Type_get_envelope_c");
  result.integers = static_cast<int>(integers);
  result.addresses = static_cast<int>(addresses);
  result.datatypes = static_cast<int>(datatypes);
  result.large = counts > 0;
#else
  check_mpi(PMPI_Type_get_envelope(datatype, &result.integers, &result.addresses, &result.datatypes,
                                   &result.combiner),
            "MPI_Type_get_envelope");
#endif
  return result;
}

bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

// What a datatype was made of. The datatypes in it are new handles, to be freed where they are not
// predefined.
struct Contents : private base::NoCopy {
  Contents(MPI_Datatype datatype, const TypeEnvelope& envelope)
      : integers(envelope.integers),
        addresses(envelope.addresses),
        datatypes(envelope.datatypes, MPI_DATATYPE_NULL) {
    check_mpi(
        PMPI_Type_get_contents(datatype, envelope.integers, envelope.addresses, envelope.datatypes,
                               integers.data(), addresses.data(), datatypes.data()),
        "MPI_Type_get_contents");
  }
  ~Contents() {
    for (MPI_Datatype& datatype : datatypes)
      if (datatype != MPI_DATATYPE_NULL && !is_predefined(envelope_of(datatype).combiner))
        PMPI_Type_free(&datatype);
  }

  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> datatypes;
};

struct Block {
  MPI_Count displacement = 0;  // in bytes
  MPI_Count length = 0;        // elements
  MPI_Datatype element = MPI_DATATYPE_NULL;
};

// The blocks of a datatype in the order in which MPI sends them; none where we do not look closer.
std::vector<Block> blocks_of(int combiner, const Contents& contents, MPI_Count extent) {
  const auto& n = contents.integers;
  const auto& a = contents.addresses;
  const auto& types = contents.datatypes;
  std::vector<Block> blocks;
  const auto add = [&](MPI_Count displacement, MPI_Count length, MPI_Datatype element) {
    blocks.push_back({displacement, length, element});
  };
  if (combiner == MPI_COMBINER_DUP || combiner == MPI_COMBINER_RESIZED) {
    add(0, 1, types[0]);
    return blocks;
  }
  // One block, however many elements there are.
  if (combiner == MPI_COMBINER_CONTIGUOUS || (combiner == MPI_COMBINER_VECTOR && n[1] == n[2])) {
    add(0, MPI_Count{n[0]} * (combiner == MPI_COMBINER_VECTOR ? n[1] : 1), types[0]);
    return blocks;
  }
  const std::size_t count = n.empty() ? 0 : static_cast<std::size_t>(n[0]);
  for (std::size_t i = 0; i < count; ++i) {
    switch (combiner) {
      case MPI_COMBINER_VECTOR:
        add(static_cast<MPI_Count>(i) * n[2] * extent, n[1], types[0]);
        break;
      case MPI_COMBINER_HVECTOR:
        add(static_cast<MPI_Count>(i) * a[0], n[1], types[0]);
        break;
      case MPI_COMBINER_INDEXED:
        add(n[1 + count + i] * extent, n[1 + i], types[0]);
        break;
      case MPI_COMBINER_HINDEXED:
        add(a[i], n[1 + i], types[0]);
        break;
      case MPI_COMBINER_INDEXED_BLOCK:
        add(n[2 + i] * extent, n[1], types[0]);
        break;
      case MPI_COMBINER_HINDEXED_BLOCK:
        add(a[i], n[1], types[0]);
        break;
      case MPI_COMBINER_STRUCT:
        add(a[i], n[1 + i], types[i]);
        break;
      default:
        break;
    }
  }
  return blocks;
}

// Each block begins where the one before it has ended, and is itself solid.
bool in_one_run(const std::vector<Block>& blocks) {
  bool first = true;
  MPI_Count end = 0;
  for (const Block& block : blocks) {
    if (block.length == 0) continue;
    const DatatypeShape element = shape_of(block.element);
    if (element.size == 0) continue;
    if (!element.solid || (block.length > 1 && element.extent != element.size)) return false;
    const MPI_Count begin = block.displacement + element.true_lower_bound;
    if (!first && begin != end) return false;
    end = begin + block.length * element.size;
    first = false;
  }
  return !first;
}

// Predefined datatypes are asked for with every request, do not change, and cannot be freed: their
// shapes are kept, the first that comes to a place for good. Other handles may stand for another
// datatype tomorrow.
struct KnownShape {
  MPI_Datatype datatype;
  DatatypeShape shape;
};

std::atomic<const KnownShape*>& place_of(MPI_Datatype datatype) {
  constexpr std::size_t places = 64;
  static std::array<std::atomic<const KnownShape*>, places> known{};
  return known[static_cast<std::size_t>((handle_bits(datatype) * 0x9e3779b97f4a7c15u) >> 58)];
}

void keep(MPI_Datatype datatype, const DatatypeShape& shape) {
  auto kept = std::make_unique<const KnownShape>(KnownShape{datatype, shape});
  const KnownShape* none = nullptr;
  // Release: the entry, before it is found.
  if (place_of(datatype).compare_exchange_strong(none, kept.get(), std::memory_order_release,
                                                 std::memory_order_relaxed))
    kept.release();
}

DatatypeShape ask_for_shape(MPI_Datatype datatype) {
  DatatypeShape shape;
  MPI_Count lower_bound = 0, true_extent = 0;
  check_mpi(PMPI_Type_size_x(datatype, &shape.size), "MPI_Type_size_x");
  check_mpi(PMPI_Type_get_extent_x(datatype, &lower_bound, &shape.extent), "MPI_Type_get_extent_x");
  check_mpi(PMPI_Type_get_true_extent_x(datatype, &shape.true_lower_bound, &true_extent),
            "MPI_Type_get_true_extent_x");
  const TypeEnvelope envelope = envelope_of(datatype);
  shape.predefined = is_predefined(envelope.combiner);
  shape.solid = shape.size == true_extent;
  if (!shape.solid || shape.predefined || shape.size == 0) return shape;
  shape.solid = false;
  if (envelope.large) return shape;
  const Contents contents(datatype, envelope);
  if (contents.datatypes.empty()) return shape;
  MPI_Count element_extent = 0;
  check_mpi(PMPI_Type_get_extent_x(contents.datatypes[0], &lower_bound, &element_extent),
            "MPI_Type_get_extent_x");
  shape.solid = in_one_run(blocks_of(envelope.combiner, contents, element_extent));
  return shape;
}

}  // namespace

DatatypeShape shape_of(MPI_Datatype datatype) {
  const KnownShape* const known = place_of(datatype).load(std::memory_order_acquire);
  if (known != nullptr && known->datatype == datatype) return known->shape;
  const DatatypeShape shape = ask_for_shape(datatype);
  if (shape.predefined) keep(datatype, shape);
  return shape;
}

}  // namespace penstock::group
