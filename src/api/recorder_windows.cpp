// SPDX-License-Identifier: Apache-2.0
// MPI's calls on windows. In an access epoch of streams puts, gets and accumulates are listed; what
// such an epoch cannot hold, and MPI's own epochs while one is open, are refused. A window that is
// not attached is MPI's alone.
#include <limits>
#include <string>

#include "api/errors.hpp"
#include "api/recording_guard.hpp"
#include "api/windows.hpp"
#include "penstock/penstock.h"
#include "penstock_recorder_config.h"

using namespace penstock;
using base::Error;
using base::ErrorKind;
using transport::Verb;

namespace {

// The window, if an access epoch of streams is open in it.
rma::Window* accessed(MPI_Win win) noexcept {
  const api::AttachedWindow* const found = api::attached(win);
  return found && found->window && found->window->accessing() ? found->window.get() : nullptr;
}

[[noreturn]] void refuse_streams_only(const char* call) {
  throw Error(ErrorKind::unsupported,
              std::string(call) +
                  ": MPI has refused a window over these processes, so this one takes epochs of "
                  "streams only");
}

// How many of MPI's own epochs are open in an attached window.
int counted(MPI_Win win, int code, int change) {
  if (code == MPI_SUCCESS)
    if (api::AttachedWindow* const found = api::attached(win))
      found->plain_epochs.fetch_add(change, std::memory_order_relaxed);
  return code;
}

// A call that opens (+1) or closes (-1) an epoch of MPI's own.
template <class Pmpi, class... Arguments>
int beside_streams(const char* call, MPI_Win win, int change, Pmpi* pmpi, Arguments... arguments) {
  api::AttachedWindow* const found = api::attached(win);
  if (found == nullptr || !found->window) return pmpi(arguments...);
  const int refused = api::guard([&] {
    found->window->refuse_open(call);
    if (found->streams_only) refuse_streams_only(call);
  });
  if (refused != MPI_SUCCESS) return refused;
  return counted(win, pmpi(arguments...), change);
}

template <class Pmpi, class... Arguments>
int not_in_streams(const char* call, MPI_Win win, Pmpi* pmpi, Arguments... arguments) {
  if (accessed(win) == nullptr) [[likely]]
    return pmpi(arguments...);
  return api::guard([&] {
    throw Error(ErrorKind::unsupported,
                std::string(call) +
                    " in an access epoch of streams: these take MPI_Put, MPI_Get and "
                    "MPI_Accumulate");
  });
}

template <class Count>
api::TypedCount typed_count(Count count, MPI_Datatype type) {
  if (count > std::numeric_limits<int>::max())
    throw Error(ErrorKind::unsupported, "a count beyond 2^31 - 1 in an epoch of streams");
  return {static_cast<int>(count), type};
}

// Lists the operation where an access epoch of streams is open, and is MPI's elsewhere. The
// operation of an accumulate comes last.
template <class Pmpi, class Count, class... Op>
int list_or_pass(Verb verb, MPI_Win win, Pmpi* pmpi, void* origin, Count origin_count,
                 MPI_Datatype origin_type, int target, MPI_Aint displacement, Count target_count,
                 MPI_Datatype target_type, Op... op) {
  rma::Window* const window = accessed(win);
  if (window == nullptr) [[likely]] {
    const int code = pmpi(origin, origin_count, origin_type, target, displacement, target_count,
                          target_type, op..., win);
    if (code != MPI_SUCCESS && api::any_window_attached()) api::note_mpi_error(code);
    return code;
  }
  return api::guard([&] {
    api::list_operation(*window, verb, origin, typed_count(origin_count, origin_type), target,
                        displacement, typed_count(target_count, target_type), op...);
  });
}

// Notes what the window is over, and with PENSTOCK_RMA=1 attaches it: what fails does so on all
// members, and the window stays MPI's alone. What the pointers point to is there where MPI's call
// has succeeded.
int created(const char* call, int code, const MPI_Win* win, const void* base, MPI_Aint bytes,
            MPI_Aint unit, MPI_Comm comm) {
  const core::Library* const library = core::Library::get();
  if (code != MPI_SUCCESS || library == nullptr) return code;
  void* const address = *static_cast<void* const*>(base);
  api::recording(call, "the window's memory is what MPI says", [&] {
    api::note_creation(*win, {address, bytes, unit});
  });
  if (library->settings().attach_windows)
    api::recording(call, "the window takes no streams", [&] { api::attach_window(*win, &comm); });
  return code;
}

}  // namespace

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm,
                   MPI_Win* win) {
  const int code = PMPI_Win_create(base, size, unit, info, comm, win);
  return created("MPI_Win_create", code, win, &base, size, unit, comm);
}
int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                     MPI_Win* win) {
  const int code = PMPI_Win_allocate(size, unit, info, comm, baseptr, win);
  return created("MPI_Win_allocate", code, win, baseptr, size, unit, comm);
}
int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                            MPI_Win* win) {
  const int code = PMPI_Win_allocate_shared(size, unit, info, comm, baseptr, win);
  return created("MPI_Win_allocate_shared", code, win, baseptr, size, unit, comm);
}
#if PENSTOCK_HAVE_MPI_Win_create_c
int MPI_Win_create_c(void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                     MPI_Win* win) {
  const int code = PMPI_Win_create_c(base, size, unit, info, comm, win);
  return created("MPI_Win_create_c", code, win, &base, size, unit, comm);
}
int MPI_Win_allocate_c(MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                       MPI_Win* win) {
  const int code = PMPI_Win_allocate_c(size, unit, info, comm, baseptr, win);
  return created("MPI_Win_allocate_c", code, win, baseptr, size, unit, comm);
}
int MPI_Win_allocate_shared_c(MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                              void* baseptr, MPI_Win* win) {
  const int code = PMPI_Win_allocate_shared_c(size, unit, info, comm, baseptr, win);
  return created("MPI_Win_allocate_shared_c", code, win, baseptr, size, unit, comm);
}
#endif

int MPI_Win_start(MPI_Group group, int assertion, MPI_Win win) {
  if ((assertion & PST_MODE_STREAM) != 0)
    return api::guard([&](core::Library&) { api::start_access(win, group, assertion); });
  return beside_streams("MPI_Win_start without PST_MODE_STREAM", win, 1, PMPI_Win_start, group,
                        assertion, win);
}
int MPI_Win_complete(MPI_Win win) {
  return beside_streams("MPI_Win_complete", win, -1, PMPI_Win_complete, win);
}
int MPI_Win_post(MPI_Group group, int assertion, MPI_Win win) {
  return beside_streams("MPI_Win_post", win, 1, PMPI_Win_post, group, assertion, win);
}
int MPI_Win_wait(MPI_Win win) {
  return beside_streams("MPI_Win_wait", win, -1, PMPI_Win_wait, win);
}
int MPI_Win_test(MPI_Win win, int* flag) {
  const int code = beside_streams("MPI_Win_test", win, 0, PMPI_Win_test, win, flag);
  return code == MPI_SUCCESS && *flag != 0 ? counted(win, code, -1) : code;
}
int MPI_Win_fence(int assertion, MPI_Win win) {
  return beside_streams("MPI_Win_fence", win, 0, PMPI_Win_fence, assertion, win);
}
int MPI_Win_lock(int lock_type, int rank, int assertion, MPI_Win win) {
  return beside_streams("MPI_Win_lock", win, 1, PMPI_Win_lock, lock_type, rank, assertion, win);
}
int MPI_Win_unlock(int rank, MPI_Win win) {
  return beside_streams("MPI_Win_unlock", win, -1, PMPI_Win_unlock, rank, win);
}
int MPI_Win_lock_all(int assertion, MPI_Win win) {
  return beside_streams("MPI_Win_lock_all", win, 1, PMPI_Win_lock_all, assertion, win);
}
int MPI_Win_unlock_all(MPI_Win win) {
  return beside_streams("MPI_Win_unlock_all", win, -1, PMPI_Win_unlock_all, win);
}

int MPI_Win_free(MPI_Win* win) {
  if (win != nullptr && api::attached(*win) != nullptr)
    if (const int code = api::guard([&] { api::detach_window(*win); }); code != MPI_SUCCESS)
      return code;
  return PMPI_Win_free(win);
}

int MPI_Put(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win) {
  return list_or_pass(Verb::put, win, PMPI_Put, const_cast<void*>(origin), origin_count,
                      origin_type, target, target_disp, target_count, target_type);
}
int MPI_Get(void* origin, int origin_count, MPI_Datatype origin_type, int target,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win) {
  return list_or_pass(Verb::get, win, PMPI_Get, origin, origin_count, origin_type, target,
                      target_disp, target_count, target_type);
}
int MPI_Accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
                   MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                   MPI_Win win) {
  return list_or_pass(Verb::accumulate, win, PMPI_Accumulate, const_cast<void*>(origin),
                      origin_count, origin_type, target, target_disp, target_count, target_type,
                      op);
}
#if PENSTOCK_HAVE_MPI_Put_c
int MPI_Put_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int target,
              MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type, MPI_Win win) {
  return list_or_pass(Verb::put, win, PMPI_Put_c, const_cast<void*>(origin), origin_count,
                      origin_type, target, target_disp, target_count, target_type);
}
int MPI_Get_c(void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int target,
              MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type, MPI_Win win) {
  return list_or_pass(Verb::get, win, PMPI_Get_c, origin, origin_count, origin_type, target,
                      target_disp, target_count, target_type);
}
int MPI_Accumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type,
                     int target, MPI_Aint target_disp, MPI_Count target_count,
                     MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
  return list_or_pass(Verb::accumulate, win, PMPI_Accumulate_c, const_cast<void*>(origin),
                      origin_count, origin_type, target, target_disp, target_count, target_type,
                      op);
}
#endif

// ---- What no epoch of streams holds

int MPI_Rput(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
             MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win,
             MPI_Request* request) {
  return not_in_streams("MPI_Rput", win, PMPI_Rput, origin, origin_count, origin_type, target,
                        target_disp, target_count, target_type, win, request);
}
int MPI_Rget(void* origin, int origin_count, MPI_Datatype origin_type, int target,
             MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win,
             MPI_Request* request) {
  return not_in_streams("MPI_Rget", win, PMPI_Rget, origin, origin_count, origin_type, target,
                        target_disp, target_count, target_type, win, request);
}
int MPI_Raccumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                    MPI_Win win, MPI_Request* request) {
  return not_in_streams("MPI_Raccumulate", win, PMPI_Raccumulate, origin, origin_count, origin_type,
                        target, target_disp, target_count, target_type, op, win, request);
}
int MPI_Get_accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, void* result,
                       int result_count, MPI_Datatype result_type, int target, MPI_Aint target_disp,
                       int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
  return not_in_streams("MPI_Get_accumulate", win, PMPI_Get_accumulate, origin, origin_count,
                        origin_type, result, result_count, result_type, target, target_disp,
                        target_count, target_type, op, win);
}
int MPI_Rget_accumulate(const void* origin, int origin_count, MPI_Datatype origin_type,
                        void* result, int result_count, MPI_Datatype result_type, int target,
                        MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                        MPI_Win win, MPI_Request* request) {
  return not_in_streams("MPI_Rget_accumulate", win, PMPI_Rget_accumulate, origin, origin_count,
                        origin_type, result, result_count, result_type, target, target_disp,
                        target_count, target_type, op, win, request);
}
int MPI_Fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target,
                     MPI_Aint target_disp, MPI_Op op, MPI_Win win) {
  return not_in_streams("MPI_Fetch_and_op", win, PMPI_Fetch_and_op, origin, result, type, target,
                        target_disp, op, win);
}
int MPI_Compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type,
                         int target, MPI_Aint target_disp, MPI_Win win) {
  return not_in_streams("MPI_Compare_and_swap", win, PMPI_Compare_and_swap, origin, compare, result,
                        type, target, target_disp, win);
}
#if PENSTOCK_HAVE_MPI_Rput_c
int MPI_Rput_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int target,
               MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type, MPI_Win win,
               MPI_Request* request) {
  return not_in_streams("MPI_Rput_c", win, PMPI_Rput_c, origin, origin_count, origin_type, target,
                        target_disp, target_count, target_type, win, request);
}
int MPI_Rget_c(void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int target,
               MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type, MPI_Win win,
               MPI_Request* request) {
  return not_in_streams("MPI_Rget_c", win, PMPI_Rget_c, origin, origin_count, origin_type, target,
                        target_disp, target_count, target_type, win, request);
}
int MPI_Raccumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type,
                      int target, MPI_Aint target_disp, MPI_Count target_count,
                      MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request* request) {
  return not_in_streams("MPI_Raccumulate_c", win, PMPI_Raccumulate_c, origin, origin_count,
                        origin_type, target, target_disp, target_count, target_type, op, win,
                        request);
}
int MPI_Get_accumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type,
                         void* result, MPI_Count result_count, MPI_Datatype result_type, int target,
                         MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type,
                         MPI_Op op, MPI_Win win) {
  return not_in_streams("MPI_Get_accumulate_c", win, PMPI_Get_accumulate_c, origin, origin_count,
                        origin_type, result, result_count, result_type, target, target_disp,
                        target_count, target_type, op, win);
}
int MPI_Rget_accumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type,
                          void* result, MPI_Count result_count, MPI_Datatype result_type,
                          int target, MPI_Aint target_disp, MPI_Count target_count,
                          MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request* request) {
  return not_in_streams("MPI_Rget_accumulate_c", win, PMPI_Rget_accumulate_c, origin, origin_count,
                        origin_type, result, result_count, result_type, target, target_disp,
                        target_count, target_type, op, win, request);
}
#endif
