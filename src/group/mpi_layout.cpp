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
  constexpr ~Kept() {}  // NOLINT(modernize-use-equals-default): it would be deleted
  Unused unused;
};
constinit Kept kept;
constinit Unused& unused = kept.unused;

}  // namespace

MpiLayout::MpiLayout(MPI_Datatype datatype, MPI_Count count)
    : shape_(shape_of(datatype)), datatype_(datatype), count_(count) {
  free_unused();
  try {
    bytes_ = static_cast<std::size_t>(datatype::product(shape_->size, count));
    // Also where MPI says no bytes: what it counts wraps around.
    if (count != 0) refusal_ = shape_->refusal;
    contiguous_ =
        refusal_.empty() && (bytes_ == 0 || (shape_->predefined && shape_->size == shape_->extent));
    if (!contiguous_ && shape_->segments) flatten(shape_->segments, shape_->extent);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::argument)
      refusal_ = error.text();
    else if (error.kind() != ErrorKind::resources)  // else there is no room for so many segments
      throw;
  } catch (const std::bad_alloc&) {
    refusal_ = no_memory_text;
  }
  if (!contiguous_ && !segments_ && refusal_.empty() && !shape_->predefined) hold(datatype);
}

// Not by MPI_Type_dup, which runs what the program has its attributes copied by.
void MpiLayout::hold(MPI_Datatype datatype) {
  check_mpi(PMPI_Type_contiguous(1, datatype, &datatype_), "MPI_Type_contiguous");
  held_ = true;
  try {
    check_mpi(PMPI_Type_commit(&datatype_), "MPI_Type_commit");
  } catch (...) {  // no destructor runs
    PMPI_Type_free(&datatype_);
    throw;
  }
}

void MpiLayout::flatten(std::shared_ptr<const datatype::Segments> segments, MPI_Count extent) {
  datatype::Span span = segments->span();
  if (count_ != 1 || span.first != 0) {  // else no long list is copied
    datatype::Segments all = *segments;
    all.repeat(static_cast<std::uint64_t>(count_), extent);
    span = all.span();
    const std::int64_t up = datatype::product(span.first, -1);
    datatype::sum(span.end, up);  // all of it is to be less than 2^63 bytes long
    all.move_by(up);
    segments = datatype::segments_cache().share(
        std::make_shared<const datatype::Segments>(std::move(all)));
  }
  lowest_ = span.first;
  contiguous_ = segments->one_run();
  if (!contiguous_) segments_ = std::move(segments);
}

datatype::Signature MpiLayout::signature() const {
  datatype::Signature signature = shape_->signature;
  signature.repeat(static_cast<std::uint64_t>(count_));
  return signature;
}

MpiLayout::~MpiLayout() {
  if (!held_) return;
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
