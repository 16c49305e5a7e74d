// SPDX-License-Identifier: Apache-2.0
#include "group/mpi_layout.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "datatype/numbers.hpp"
#include "datatype/segments_cache.hpp"
#include "group/datatype_shape.hpp"
#include "group/datatype_signature.hpp"
#include "group/mpi_check.hpp"

namespace penstock::group {

using base::Error;
using base::ErrorKind;

namespace {

// Layouts end where requests do, which may be a stream's worker: that thread may not call MPI below
// MPI_THREAD_MULTIPLE. So the destructor leaves the datatype here.
struct Unused {
  std::mutex mutex;
  std::vector<MPI_Datatype> datatypes;
  std::atomic<bool> any{false};  // a hint: what it misses is freed by a later call
};

// Never destroyed, as layouts may end while the process exits. It has no initialiser that runs, as
// those of other libraries may run first and call MPI.
union Kept {
  constexpr Kept() : unused() {}
  constexpr ~Kept() {}
  Unused unused;
};
constinit Kept kept;
constinit Unused& unused = kept.unused;

}  // namespace

MpiLayout::MpiLayout(MPI_Datatype datatype, MPI_Count count) : datatype_(datatype), count_(count) {
  free_unused();
  bool predefined = false;
  try {
    const DatatypeShape shape = shape_of(datatype);
    predefined = shape.predefined;
    bytes_ = static_cast<std::size_t>(datatype::product(shape.size, count));
    contiguous_ = bytes_ == 0 || (predefined && shape.size == shape.extent);
    if (!contiguous_ && shape.segments) flatten(shape.segments, shape.extent);
  } catch (const Error& error) {
    // Of more segments than there is room for MPI takes care.
    contiguous_ = count == 0;  // wherever its elements would lie
    if (error.kind() == ErrorKind::argument && count != 0)
      refusal_ = error.text();
    else if (error.kind() != ErrorKind::resources && error.kind() != ErrorKind::argument)
      throw;
  }
  if (predefined) return;
  check_mpi(PMPI_Type_dup(datatype, &datatype_), "MPI_Type_dup");
  duplicated_ = true;
}

void MpiLayout::flatten(std::shared_ptr<const datatype::Segments> segments, MPI_Count extent) {
  if (count_ != 1 || segments->span().first != 0) {  // else no long list is copied
    datatype::Segments all = *segments;
    all.repeat(static_cast<std::uint64_t>(count_), extent);
    lowest_ = all.span().first;
    all.move_by(-lowest_);
    segments = std::make_shared<const datatype::Segments>(std::move(all));
  }
  contiguous_ = segments->one_run();
  if (!contiguous_) segments_ = datatype::segments_cache().share(std::move(segments));
}

datatype::Signature MpiLayout::signature() const {
  datatype::Signature signature = signature_of(datatype_);
  signature.repeat(static_cast<std::uint64_t>(count_));
  return signature;
}

MpiLayout::~MpiLayout() {
  if (!duplicated_) return;
  const std::lock_guard lock(unused.mutex);
  try {
    unused.datatypes.push_back(datatype_);
  } catch (const std::bad_alloc&) {  // MPI keeps it until its end
  }
  unused.any.store(true, std::memory_order_relaxed);
}

void MpiLayout::free_unused() noexcept {
  if (!unused.any.load(std::memory_order_relaxed)) return;
  std::vector<MPI_Datatype> datatypes;
  {
    const std::lock_guard lock(unused.mutex);
    unused.any.store(false, std::memory_order_relaxed);
    datatypes.swap(unused.datatypes);
  }
  if (datatypes.empty()) return;
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (finalized) return;  // MPI has freed them itself
  for (MPI_Datatype& datatype : datatypes) PMPI_Type_free(&datatype);
}

}  // namespace penstock::group
