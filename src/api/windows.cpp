// SPDX-License-Identifier: Apache-2.0
#include "api/windows.hpp"

#include <fmt/format.h>

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/forked.hpp"
#include "base/log.hpp"
#include "core/library.hpp"
#include "core/monitor.hpp"
#include "core/transports.hpp"
#include "device/gpu.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_layout.hpp"
#include "group/mpi_window_group.hpp"

namespace penstock::api {

using base::Error;
using base::ErrorKind;
using transport::Access;
using transport::Element;
using transport::Reduction;

namespace {

std::atomic<bool> any{false};
std::mutex mutex;
std::set<AttachedWindow*> all;  // under the mutex

void end(AttachedWindow* window) noexcept {
  {
    const std::lock_guard lock(mutex);
    if (all.erase(window) == 0) return;
  }
  const std::unique_ptr<AttachedWindow> owned(window);
  owned->window.reset();
  if (core::Library* library = core::Library::get(); library && owned->memory)
    library->transports().peer().memory().free(owned->memory);
}

// MPI frees the window: without our having seen the call, if it is still there.
extern "C" int penstock_window_deleted(MPI_Win, int, void* attached, void*) {
  if (!base::forked()) end(static_cast<AttachedWindow*>(attached));
  return MPI_SUCCESS;
}

int make_keyval() {
  int keyval = MPI_KEYVAL_INVALID;
  group::check_mpi(
      PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, penstock_window_deleted, &keyval, nullptr),
      "MPI_Win_create_keyval");
  return keyval;
}

int keyval() {
  static const int one = make_keyval();
  return one;
}

template <class T>
T* attribute(MPI_Win win, int key) {
  T* value = nullptr;
  int found = 0;
  group::check_mpi(PMPI_Win_get_attr(win, key, &value, &found), "MPI_Win_get_attr");
  return found != 0 ? value : nullptr;
}

transport::WindowMemory memory_of(MPI_Win win) {
  const int* const flavour = attribute<int>(win, MPI_WIN_CREATE_FLAVOR);
  if (flavour != nullptr && *flavour == MPI_WIN_FLAVOR_DYNAMIC)
    throw Error(ErrorKind::unsupported,
                "a dynamic window takes no streams: make it with PST_Win_create");
  transport::WindowMemory memory;
  memory.base = attribute<void>(win, MPI_WIN_BASE);
  if (const auto* size = attribute<MPI_Aint>(win, MPI_WIN_SIZE))
    memory.bytes = static_cast<std::size_t>(*size);
  memory.memory = device::memory_kind(memory.base);
  return memory;
}

Element element_of(MPI_Datatype type) {
  static const std::pair<MPI_Datatype, Element> elements[] = {
      {MPI_INT, Element::int32},       {MPI_INT32_T, Element::int32},
      {MPI_UNSIGNED, Element::uint32}, {MPI_UINT32_T, Element::uint32},
      {MPI_INT64_T, Element::int64},   {MPI_LONG_LONG, Element::int64},
      {MPI_UINT64_T, Element::uint64}, {MPI_UNSIGNED_LONG_LONG, Element::uint64},
      {MPI_FLOAT, Element::float32},   {MPI_DOUBLE, Element::float64},
      {MPI_AINT, Element::int64},      {MPI_OFFSET, Element::int64},
      {MPI_COUNT, Element::int64}};
  for (const auto& [known, element] : elements)
    if (type == known) return element;
  constexpr bool wide = sizeof(long) == 8;
  if (type == MPI_LONG) return wide ? Element::int64 : Element::int32;
  if (type == MPI_UNSIGNED_LONG) return wide ? Element::uint64 : Element::uint32;
  throw Error(ErrorKind::unsupported,
              "an accumulate takes integers and floating-point numbers of 4 or 8 bytes");
}

Reduction reduction_of(MPI_Op op, Element element) {
  static const std::pair<MPI_Op, Reduction> reductions[] = {
      {MPI_REPLACE, Reduction::replace}, {MPI_SUM, Reduction::sum},
      {MPI_PROD, Reduction::product},    {MPI_MIN, Reduction::min},
      {MPI_MAX, Reduction::max},         {MPI_BAND, Reduction::bit_and},
      {MPI_BOR, Reduction::bit_or},      {MPI_BXOR, Reduction::bit_xor}};
  for (const auto& [known, reduction] : reductions) {
    if (op != known) continue;
    const bool floating = element == Element::float32 || element == Element::float64;
    if (floating && reduction >= Reduction::bit_and)
      throw Error(ErrorKind::argument, "floating-point numbers have no bits to combine");
    return reduction;
  }
  throw Error(ErrorKind::unsupported,
              "an accumulate takes MPI_REPLACE, MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, "
              "MPI_BOR and MPI_BXOR");
}

// Where a side's bytes begin, from the address that the call names, and how many there are.
struct Bytes {
  std::int64_t lowest = 0;
  std::size_t count = 0;
};
Bytes bytes_of(const Side& side, const char* which) {
  if (side.count < 0)
    throw Error(ErrorKind::argument, fmt::format("the {}'s count is {}", which, side.count));
  const group::MpiLayout layout(side.type, side.count);
  if (!layout.refusal().empty()) throw Error(ErrorKind::argument, layout.refusal());
  if (layout.bytes() != 0 && !layout.contiguous())
    throw Error(ErrorKind::unsupported,
                fmt::format("the {}'s datatype has gaps: windows on streams move bytes that lie "
                            "one behind the other",
                            which));
  return {layout.lowest(), layout.bytes()};
}

}  // namespace

bool any_window_attached() noexcept {
  return any.load(std::memory_order_relaxed);
}

AttachedWindow* attached(MPI_Win win) noexcept {
  if (!any_window_attached() || win == MPI_WIN_NULL) return nullptr;
  void* found = nullptr;
  int flag = 0;
  if (PMPI_Win_get_attr(win, keyval(), &found, &flag) != MPI_SUCCESS || flag == 0) return nullptr;
  return static_cast<AttachedWindow*>(found);
}

rma::Window& window_of(MPI_Win win) {
  if (win == MPI_WIN_NULL) throw Error(ErrorKind::window, "the window is MPI_WIN_NULL");
  AttachedWindow* const found = attached(win);
  if (found == nullptr || !found->window)
    throw Error(ErrorKind::window,
                "the window takes no streams: make it with PST_Win_create or PST_Win_allocate, or "
                "call PST_Win_attach on all its members");
  return *found->window;
}

void attach_window(MPI_Win win, void* memory) {
  if (win == MPI_WIN_NULL) throw Error(ErrorKind::window, "the window is MPI_WIN_NULL");
  core::Library& library = core::Library::require();
  if (attached(win) != nullptr) return;
  const transport::WindowMemory ours = memory_of(win);
  const int* const unit = attribute<int>(win, MPI_WIN_DISP_UNIT);
  auto made = std::make_unique<AttachedWindow>();
  made->window = std::make_unique<rma::Window>(group::open_window_group(win), ours,
                                               unit == nullptr ? 1 : *unit, library.transports());
  made->memory = memory;
  group::check_mpi(PMPI_Win_set_attr(win, keyval(), made.get()), "MPI_Win_set_attr");
  {
    const std::lock_guard lock(mutex);
    all.insert(made.release());
  }
  any.store(true, std::memory_order_relaxed);
  library.monitor().begin_watching();
}

void detach_window(MPI_Win win) {
  AttachedWindow* const found = attached(win);
  if (found == nullptr || !found->window) return;
  found->window->refuse_open("MPI_Win_free");
  found->window->detach();
}

void end_windows() noexcept {
  for (;;) {
    AttachedWindow* first = nullptr;
    {
      const std::lock_guard lock(mutex);
      if (all.empty()) return;
      first = *all.begin();
    }
    base::log::warn(first->window->name() +
                    " has not been freed: call MPI_Win_free before the end");
    end(first);
  }
}

void start_access(MPI_Win win, MPI_Group group) {
  window_of(win).start(group::members_of(win, group));
}

void list_operation(MPI_Win win, Access access, void* origin, const Side& ours, int target,
                    MPI_Aint displacement, const Side& theirs, MPI_Op op) {
  rma::Window& window = window_of(win);
  if (target == MPI_PROC_NULL) return;
  const Bytes here = bytes_of(ours, "origin"), there = bytes_of(theirs, "target");
  if (origin == nullptr && here.count != 0)
    throw Error(ErrorKind::argument, "the origin's buffer is a null pointer");
  if (there.lowest != 0)
    throw Error(ErrorKind::unsupported, "the target's datatype does not begin at its address");
  transport::Operation operation;
  operation.access = access;
  operation.origin = static_cast<std::byte*>(origin) + here.lowest;
  if (access == Access::accumulate) {
    operation.element = element_of(theirs.type);
    operation.reduction = reduction_of(op, operation.element);
    if (ours.type != theirs.type)
      throw Error(ErrorKind::argument, "an accumulate has one datatype at both sides");
  }
  window.add(target, displacement, {here.count, there.count}, operation);
}

}  // namespace penstock::api
