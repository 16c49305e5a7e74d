// SPDX-License-Identifier: Apache-2.0
#include "group/datatype_shape.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "datatype/segments_cache.hpp"
#include "group/datatype_contents.hpp"
#include "group/datatype_segments.hpp"
#include "group/datatype_signature.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_handle.hpp"

namespace penstock::group {

namespace {

using datatype::Signature;

// ---- Predefined datatypes are asked for with every request, do not change, and cannot be freed:
// their shapes are kept, the first that comes to a place for good.

struct Predefined {
  MPI_Datatype datatype;
  ShapePointer shape;
};

std::atomic<const Predefined*>& place_of(MPI_Datatype datatype) {
  constexpr std::size_t places = 64;
  static std::array<std::atomic<const Predefined*>, places> known{};
  return known[static_cast<std::size_t>((handle_bits(datatype) * 0x9e3779b97f4a7c15u) >> 58)];
}

void keep_predefined(MPI_Datatype datatype, const ShapePointer& shape) {
  auto kept = std::make_unique<const Predefined>(Predefined{datatype, shape});
  const Predefined* none = nullptr;
  // Release: the entry, before it is found.
  if (place_of(datatype).compare_exchange_strong(none, kept.get(), std::memory_order_release,
                                                 std::memory_order_relaxed))
    static_cast<void>(kept.release());
}

// ---- The attribute of others

extern "C" int penstock_datatype_deleted(MPI_Datatype, int, void* value, void*) {
  delete static_cast<ShapePointer*>(value);
  return MPI_SUCCESS;
}

int make_shape_keyval() {
  int keyval = MPI_KEYVAL_INVALID;
  check_mpi(
      PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, penstock_datatype_deleted, &keyval, nullptr),
      "MPI_Type_create_keyval");
  return keyval;
}

int shape_keyval() {
  static const int value = make_shape_keyval();
  return value;
}

// Two threads may meet the same datatype: one must not replace what the other reads.
std::mutex& attributes() {
  static std::mutex mutex;
  return mutex;
}

ShapePointer known_shape(MPI_Datatype datatype) {
  const Predefined* const known = place_of(datatype).load(std::memory_order_acquire);
  if (known != nullptr && known->datatype == datatype) return known->shape;
  const std::lock_guard lock(attributes());
  void* value = nullptr;
  int found = 0;
  check_mpi(PMPI_Type_get_attr(datatype, shape_keyval(), &value, &found), "MPI_Type_get_attr");
  return found ? *static_cast<ShapePointer*>(value) : nullptr;
}

ShapePointer keep_shape(MPI_Datatype datatype, ShapePointer shape) {
  if (!shape->lasting) return shape;
  const std::lock_guard lock(attributes());
  auto attribute = std::make_unique<ShapePointer>(shape);
  check_mpi(PMPI_Type_set_attr(datatype, shape_keyval(), attribute.get()), "MPI_Type_set_attr");
  static_cast<void>(attribute.release());
  return shape;
}

// ---- The walk over all that a datatype is made of

DatatypeShape measured(MPI_Datatype datatype) {
  DatatypeShape shape;
  MPI_Count lower_bound = 0;
  check_mpi(PMPI_Type_size_x(datatype, &shape.size), "MPI_Type_size_x");
  check_mpi(PMPI_Type_get_extent_x(datatype, &lower_bound, &shape.extent), "MPI_Type_get_extent_x");
  return shape;
}

// `flatten` returns the segments. Of more than there is room for MPI takes care.
template <class Flatten>
void describe(DatatypeShape& shape, Flatten flatten) {
  try {
    if (auto segments = flatten())
      shape.segments = datatype::segments_cache().share(
          std::make_shared<const datatype::Segments>(std::move(*segments)));
  } catch (const base::Error& error) {
    if (error.kind() == base::ErrorKind::argument)
      shape.refusal = error.text();
    else if (error.kind() != base::ErrorKind::resources)
      throw;
  } catch (const std::bad_alloc&) {
    shape.refusal = no_memory_text;
    shape.lasting = false;
  }
}

ShapePointer shape_of_predefined(MPI_Datatype datatype) {
  DatatypeShape shape = measured(datatype);
  shape.predefined = true;
  describe(shape, [&] { return segments_of_predefined(datatype); });
  shape.signature = signature_of_predefined(datatype);
  auto result = std::make_shared<const DatatypeShape>(std::move(shape));
  keep_predefined(datatype, result);
  return result;
}

// A datatype whose parts are being looked at. On the heap, as programs may nest datatypes deeper
// than a thread's stack is.
struct Level {
  MPI_Datatype datatype;
  DatatypeContents contents;
  std::vector<ShapePointer> parts{};

  explicit Level(MPI_Datatype which) : datatype(which), contents(which) {}
  bool complete() const { return parts.size() == contents.datatypes().size(); }
  MPI_Datatype next() const { return contents.datatypes()[parts.size()]; }
};

ShapePointer shape_of_derived(const Level& level) {
  DatatypeShape shape = measured(level.datatype);
  for (const ShapePointer& part : level.parts) shape.lasting = shape.lasting && part->lasting;
  describe(shape, [&] { return segments_of_derived(level.contents, level.parts); });
  shape.signature = signature_of_derived(level.contents, shape.size, level.parts);
  return keep_shape(level.datatype, std::make_shared<const DatatypeShape>(std::move(shape)));
}

ShapePointer undescribed(MPI_Datatype datatype) {
  DatatypeShape shape = measured(datatype);
  shape.signature = Signature::of_anything();
  return keep_shape(datatype, std::make_shared<const DatatypeShape>(std::move(shape)));
}

ShapePointer walk(MPI_Datatype datatype) {
  std::vector<std::unique_ptr<Level>> levels;
  levels.push_back(std::make_unique<Level>(datatype));
  int looks = 1;
  for (;;) {
    Level& level = *levels.back();
    ShapePointer shape;
    if (level.complete()) {
      shape = shape_of_derived(level);
      levels.pop_back();
      if (levels.empty()) return shape;
    } else if (!(shape = known_shape(level.next()))) {
      if (is_predefined(level.next())) {
        shape = shape_of_predefined(level.next());
      } else if (++looks > DatatypeContents::most_looks) {
        return undescribed(datatype);
      } else {
        levels.push_back(std::make_unique<Level>(level.next()));
        continue;
      }
    }
    levels.back()->parts.push_back(std::move(shape));
  }
}

}  // namespace

ShapePointer shape_of(MPI_Datatype datatype) {
  if (auto known = known_shape(datatype)) return known;
  return is_predefined(datatype) ? shape_of_predefined(datatype) : walk(datatype);
}

}  // namespace penstock::group
