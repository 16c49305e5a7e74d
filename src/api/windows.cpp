// SPDX-License-Identifier: Apache-2.0
#include "api/windows.hpp"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "api/basic_types.hpp"
#include "api/members.hpp"
#include "base/forked.hpp"
#include "base/log.hpp"
#include "core/library.hpp"
#include "core/monitor.hpp"
#include "core/transports.hpp"
#include "device/gpu.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_layout.hpp"
#include "group/mpi_member_group.hpp"

namespace penstock::api {

using base::Error;
using base::ErrorKind;
using transport::Verb;

namespace {

std::atomic<bool> ever_attached{false};
std::atomic<std::uint64_t> windows_freed{0};  // attached windows that are no more
std::mutex mutex;
std::set<AttachedWindow*> windows;  // under the mutex

// MPI calls this when it frees the window, whose attribute owns the rest.
extern "C" int penstock_window_deleted(MPI_Win, int, void* attached, void*) {
  if (base::forked()) return MPI_SUCCESS;
  const std::unique_ptr<AttachedWindow> owned(static_cast<AttachedWindow*>(attached));
  {
    const std::lock_guard lock(mutex);
    windows.erase(owned.get());
  }
  windows_freed.fetch_add(1, std::memory_order_relaxed);
  const bool free = owned->window && owned->window->part_is_free();
  owned->window.reset();
  // What a peer may still write serves nobody else.
  if (core::Library* library = core::Library::get(); library && owned->memory && free)
    library->transports().peer().memory().free(owned->memory);
  return MPI_SUCCESS;
}

extern "C" int penstock_creation_deleted(MPI_Win, int, void* part, void*) {
  delete static_cast<WindowPart*>(part);
  return MPI_SUCCESS;
}

int make_keyval(MPI_Win_delete_attr_function* deleted) {
  int keyval = MPI_KEYVAL_INVALID;
  group::check_mpi(PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, deleted, &keyval, nullptr),
                   "MPI_Win_create_keyval");
  return keyval;
}

int keyval() {
  static const int one = make_keyval(penstock_window_deleted);
  return one;
}

int creation_keyval() {
  static const int one = make_keyval(penstock_creation_deleted);
  return one;
}

template <class T>
T* attribute(MPI_Win win, int key) {
  T* value = nullptr;
  int found = 0;
  group::check_mpi(PMPI_Win_get_attr(win, key, &value, &found), "MPI_Win_get_attr");
  return found != 0 ? value : nullptr;
}

transport::WindowMemory memory_of(const WindowPart& part) {
  return {part.base, static_cast<std::size_t>(part.bytes), device::memory_kind(part.base), -1};
}

WindowPart part_of(MPI_Win win) {
  const int* const flavour = attribute<int>(win, MPI_WIN_CREATE_FLAVOR);
  if (flavour != nullptr && *flavour == MPI_WIN_FLAVOR_DYNAMIC)
    throw Error(ErrorKind::unsupported,
                "a dynamic window takes no streams: make it with PST_Win_create");
  if (const auto* const noted = attribute<WindowPart>(win, creation_keyval())) return *noted;
  const auto* const size = attribute<MPI_Aint>(win, MPI_WIN_SIZE);
  const int* const unit = attribute<int>(win, MPI_WIN_DISP_UNIT);
  return {attribute<void>(win, MPI_WIN_BASE), size == nullptr ? 0 : *size,
          unit == nullptr ? 1 : *unit};
}

// Where a side's bytes begin, from the address that the call names, and how many there are.
struct Bytes {
  std::int64_t lowest = 0;
  std::size_t count = 0;
};
Bytes bytes_of(const TypedCount& side, const char* which) {
  if (side.count < 0)
    throw Error(ErrorKind::argument, fmt::format("the {}'s count is {}", which, side.count));
  if (const BasicType* const known = basic_type(side.type))
    return {0, known->bytes * static_cast<std::size_t>(side.count)};
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
  return ever_attached.load(std::memory_order_relaxed);
}

AttachedWindow* attached(MPI_Win win) noexcept {
  if (!any_window_attached() || win == MPI_WIN_NULL) return nullptr;
  // This thread's last answer, which costs a tenth of MPI's. It holds until an attached window is
  // freed: MPI gives its handle to no other before that.
  thread_local struct {
    MPI_Win win = MPI_WIN_NULL;
    AttachedWindow* found = nullptr;
    std::uint64_t freed = 0;
  } last;
  const std::uint64_t now = windows_freed.load(std::memory_order_relaxed);
  if (last.win == win && last.freed == now) return last.found;
  void* found = nullptr;
  int flag = 0;
  if (PMPI_Win_get_attr(win, keyval(), &found, &flag) != MPI_SUCCESS || flag == 0) return nullptr;
  last = {win, static_cast<AttachedWindow*>(found), now};
  return last.found;
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

namespace {

// The last step of an attachment, on all members or on none. From here on the window's attribute
// owns it.
void hang_on(MPI_Win win, std::unique_ptr<AttachedWindow> made, group::MemberGroup& members) {
  members.together([&] {
    {
      const std::lock_guard lock(mutex);
      windows.insert(made.get());
    }
    if (const int code = PMPI_Win_set_attr(win, keyval(), made.get()); code != MPI_SUCCESS) {
      const std::lock_guard lock(mutex);
      windows.erase(made.get());
      group::check_mpi(code, "MPI_Win_set_attr");
    }
    (void)made.release();
  });
  windows_freed.fetch_add(1, std::memory_order_relaxed);  // answers about its handle hold no more
  ever_attached.store(true, std::memory_order_relaxed);
  core::Library::require().monitor().begin_watching();
}

std::unique_ptr<AttachedWindow> open_window(core::Library& library,
                                            std::unique_ptr<group::MemberGroup> members,
                                            const WindowPart& part) {
  auto made = std::make_unique<AttachedWindow>();
  const rma::WindowOptions options{library.world().thread_level() == group::ThreadLevel::multiple,
                                   library.settings().check, library.settings().timeout};
  made->window = std::make_unique<rma::Window>(std::move(members), memory_of(part), part.unit,
                                               library.transports(), options);
  return made;
}

void require_valid(const WindowPart& part) {
  if (part.bytes < 0) throw Error(ErrorKind::argument, "the window's size is negative");
  if (part.unit <= 0)
    throw Error(ErrorKind::argument, "the window's displacement unit is not positive");
}

// MPI's window over the part, attached. It frees `allocated` with itself.
MPI_Win make_window(core::Library& library, std::unique_ptr<group::MpiMemberGroup> group,
                    const WindowPart& part, MPI_Info info, void* allocated) {
  group::MpiMemberGroup& members = *group;
  const auto mpi = members.create_window(
      {static_cast<std::byte*>(part.base), static_cast<std::size_t>(part.bytes)},
      static_cast<int>(part.unit), info);
  MPI_Win win = mpi.window;
  try {
    auto made = open_window(library, std::move(group), part);
    made->memory = allocated;
    made->streams_only = mpi.streams_only;
    hang_on(win, std::move(made), members);
  } catch (...) {
    PMPI_Win_free(&win);
    throw;
  }
  return win;
}

}  // namespace

void note_creation(MPI_Win win, const WindowPart& part) {
  auto noted = std::make_unique<WindowPart>(part);
  group::check_mpi(PMPI_Win_set_attr(win, creation_keyval(), noted.get()), "MPI_Win_set_attr");
  (void)noted.release();
}

void attach_window(MPI_Win win, const MPI_Comm* comm) {
  if (win == MPI_WIN_NULL) throw Error(ErrorKind::window, "the window is MPI_WIN_NULL");
  core::Library& library = core::Library::require();
  if (attached(win) != nullptr) return;
  const WindowPart part = part_of(win);
  auto group = comm != nullptr ? group::MpiMemberGroup::of_communicator(*comm, watch_alive(library))
                               : group::MpiMemberGroup::of_window(win, watch_alive(library));
  group::MemberGroup& members = *group;
  hang_on(win, open_window(library, std::move(group), part), members);
}

MPI_Win create_window(const WindowPart& part, MPI_Info info, MPI_Comm comm) {
  core::Library& library = core::Library::require();
  auto group = group::MpiMemberGroup::of_communicator(comm, watch_alive(library));
  group->together([&] {
    require_valid(part);
    if (part.base == nullptr && part.bytes > 0)
      throw Error(ErrorKind::argument, "the window's memory is a null pointer");
  });
  return make_window(library, std::move(group), part, info, nullptr);
}

MPI_Win allocate_window(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void** base) {
  core::Library& library = core::Library::require();
  auto group = group::MpiMemberGroup::of_communicator(comm, watch_alive(library));
  WindowPart part{nullptr, bytes, unit};
  peer::Memory& memory = library.transports().peer().memory();
  try {
    group->together([&] {
      require_valid(part);
      part.base = memory.allocate(static_cast<std::size_t>(bytes));
    });
  } catch (...) {
    memory.free(part.base);
    throw;
  }
  const MPI_Win win = make_window(library, std::move(group), part, info, part.base);
  *base = part.base;
  return win;
}

void detach_window(MPI_Win win) {
  AttachedWindow* const found = attached(win);
  if (found == nullptr || !found->window) return;
  found->window->refuse_open("MPI_Win_free");
  // MPI would refuse it, too, but too late: it calls what the attribute deletes before.
  refuse_plain_epochs(win, "MPI_Win_free");
  core::Library& library = core::Library::require();
  found->window->detach(while_alive(library, found->window->group().world_ranks()),
                        library.meanwhile());
}

// What hangs on the windows stays until MPI frees them.
void end_windows() noexcept {
  const std::lock_guard lock(mutex);
  for (AttachedWindow* window : windows) {
    base::log::failures_in([&] {
      base::log::warn(window->window->name() +
                      " has not been freed: call MPI_Win_free before the end");
    });
    window->window.reset();
  }
  windows.clear();
}

void refuse_plain_epochs(MPI_Win win, const char* call) {
  const AttachedWindow* const found = attached(win);
  if (found && found->plain_epochs.load(std::memory_order_relaxed) > 0)
    throw Error(ErrorKind::epoch, found->window->name() + ": " + call +
                                      " while an epoch of MPI's own is open: close that first");
}

const rma::Members& members_of(const rma::Window& window, MPI_Group group) {
  thread_local rma::Members members;
  static_cast<const group::MpiMemberGroup&>(window.group()).members_of(group, members);
  return members;
}

void start_access(MPI_Win win, MPI_Group group, int assertion) {
  rma::Window& window = window_of(win);
  refuse_plain_epochs(win, "MPI_Win_start with PST_MODE_STREAM");
  window.start(members_of(window, group), promises_posts(assertion));
}

void start_access_on(core::Queue& queue, MPI_Win win, MPI_Group group, int assertion) {
  rma::Window& window = window_of(win);
  refuse_plain_epochs(win, "PST_Win_start_stream");
  window.start_on(queue, members_of(window, group), promises_posts(assertion));
}

void list_operation(rma::Window& window, Verb verb, void* origin, const TypedCount& ours,
                    int target, MPI_Aint displacement, const TypedCount& theirs, MPI_Op op) {
  if (target == MPI_PROC_NULL) return;
  const Bytes here = bytes_of(ours, "origin");
  const bool alike = ours.type == theirs.type && ours.count == theirs.count;
  const Bytes there = alike ? here : bytes_of(theirs, "target");
  if (origin == nullptr && here.count != 0)
    throw Error(ErrorKind::argument, "the origin's buffer is a null pointer");
  if (there.lowest != 0)
    throw Error(ErrorKind::unsupported, "the target's datatype does not begin at its address");
  transport::Operation operation;
  operation.verb = verb;
  operation.origin = static_cast<std::byte*>(origin) + here.lowest;
  if (verb == Verb::accumulate) {
    const auto [reduction, element] = combination_of(Taker::accumulate, theirs.type, op);
    operation.reduction = reduction;
    operation.element = element;
    if (ours.type != theirs.type)
      throw Error(ErrorKind::argument, "an accumulate has one datatype at both sides");
  }
  window.add(target, displacement, {here.count, there.count}, operation);
}

}  // namespace penstock::api
