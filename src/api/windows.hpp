// SPDX-License-Identifier: Apache-2.0
// Attached windows, behind the handles of MPI. What stands for one hangs on the MPI window itself,
// as MPI may give the handle of a freed one to another.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>

#include "rma/window.hpp"

namespace penstock::api {

struct AttachedWindow {
  std::unique_ptr<rma::Window> window;  // null when the library has ended
  void* memory = nullptr;               // of PST_Win_allocate; freed when MPI frees the window
  bool streams_only = false;            // MPI's own window has this process alone
  std::atomic<int> plain_epochs{0};     // of MPI's own that are open, but for fences
};

// Whether this process has ever attached one: until then calls of MPI on windows need not look.
bool any_window_attached() noexcept;
// Null for a window that is not attached, or none.
AttachedWindow* attached(MPI_Win win) noexcept;
rma::Window& window_of(MPI_Win win);  // throws Error(window)

// A member's memory, as the call that made the window had it.
struct WindowPart {
  void* base;
  MPI_Aint bytes;
  MPI_Aint unit;
};
// Keeps what a recorded call has made the window over: MPICH tells a base that is rounded down.
void note_creation(MPI_Win win, const WindowPart& part);
// Collective: what PST_Win_attach does. `comm` may be null: that which the window was made over.
void attach_window(MPI_Win win, const MPI_Comm* comm = nullptr);
// Collective: makes MPI's window over this memory, and attaches it. Where that fails there is none.
MPI_Win create_window(const WindowPart& part, MPI_Info info, MPI_Comm comm);
// The same over memory that is allocated here, whose address goes to `base`.
MPI_Win allocate_window(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void** base);
// Collective, before MPI's own call, which frees the window. Throws Error(epoch).
void detach_window(MPI_Win win);
// At the end of the library: ends those that the program has not freed.
void end_windows() noexcept;

// Throws Error(epoch).
void refuse_plain_epochs(MPI_Win win, const char* call);

// What PST_Win_start and the operations do, and MPI's own in an epoch of streams. They throw
// base::Error.
void start_access(MPI_Win win, MPI_Group group, int assertion);
void start_access_on(core::Queue& queue, MPI_Win win, MPI_Group group, int assertion);
// Whether an assertion has MPI_MODE_NOCHECK: the program promises that posts run before completes.
inline bool promises_posts(int assertion) noexcept {
  return (assertion & MPI_MODE_NOCHECK) != 0;
}
// The result belongs to this thread, and stands until its next call.
const rma::Members& members_of(const rma::Window& window, MPI_Group group);
struct TypedCount {
  int count;
  MPI_Datatype type;
};
void list_operation(rma::Window& window, transport::Verb verb, void* origin, const TypedCount& ours,
                    int target, MPI_Aint displacement, const TypedCount& theirs,
                    MPI_Op op = MPI_OP_NULL);

}  // namespace penstock::api
