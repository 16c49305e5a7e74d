// SPDX-License-Identifier: Apache-2.0
#include "api/errors.hpp"
#include "api/handles.hpp"
#include "api/windows.hpp"
#include "group/mpi_check.hpp"
#include "penstock/penstock.h"

using namespace penstock;
using base::Error;
using base::ErrorKind;
using transport::Verb;

int PST_Win_attach(MPI_Win win) {
  return api::guard([&](core::Library&) { api::attach_window(win); });
}

int PST_Win_create(void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                   MPI_Win* win) {
  return api::guard([&](core::Library&) {
    api::require_pointer(win, "win");
    *win = api::create_window({base, size, disp_unit}, info, comm);
  });
}

int PST_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                     MPI_Win* win) {
  return api::guard([&](core::Library&) {
    api::require_pointer(win, "win");
    api::require_pointer(baseptr, "baseptr");
    api::require_served_kinds(info);
    *win = api::allocate_window(size, disp_unit, info, comm, static_cast<void**>(baseptr));
  });
}

int PST_Win_post_stream(MPI_Group group, int assertion, MPI_Win win, PST_Queue queue) {
  return api::guard([&](core::Library& library) {
    rma::Window& window = api::window_of(win);
    api::refuse_plain_epochs(win, "PST_Win_post_stream");
    window.post(api::members_of(window, group), api::queue_of(library, queue),
                api::promises_posts(assertion));
  });
}

int PST_Win_start(MPI_Group group, int assertion, MPI_Win win) {
  return api::guard([&](core::Library&) { api::start_access(win, group, assertion); });
}

int PST_Win_start_stream(MPI_Group group, int assertion, MPI_Win win, PST_Queue queue) {
  return api::guard([&](core::Library& library) {
    api::start_access_on(api::queue_of(library, queue), win, group, assertion);
  });
}

int PST_Win_pointer(MPI_Win win, int rank, void* pointer) {
  return api::guard([&](core::Library&) {
    api::require_pointer(pointer, "pointer");
    *static_cast<void**>(pointer) = api::window_of(win).pointer(rank);
  });
}

int PST_Put(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win) {
  return api::guard([&](core::Library&) {
    api::list_operation(api::window_of(win), Verb::put, const_cast<void*>(origin),
                        {origin_count, origin_type}, target, target_disp,
                        {target_count, target_type});
  });
}

int PST_Get(void* origin, int origin_count, MPI_Datatype origin_type, int target,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win) {
  return api::guard([&](core::Library&) {
    api::list_operation(api::window_of(win), Verb::get, origin, {origin_count, origin_type}, target,
                        target_disp, {target_count, target_type});
  });
}

int PST_Accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
                   MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                   MPI_Win win) {
  return api::guard([&](core::Library&) {
    api::list_operation(api::window_of(win), Verb::accumulate, const_cast<void*>(origin),
                        {origin_count, origin_type}, target, target_disp,
                        {target_count, target_type}, op);
  });
}

int PST_Win_complete_stream(MPI_Win win, PST_Queue queue) {
  return api::guard(
      [&](core::Library& library) { api::window_of(win).complete(api::queue_of(library, queue)); });
}

int PST_Win_wait_stream(MPI_Win win, PST_Queue queue) {
  return api::guard(
      [&](core::Library& library) { api::window_of(win).wait(api::queue_of(library, queue)); });
}

int PST_Win_free(MPI_Win* win) {
  return api::guard([&](core::Library&) {
    api::require_pointer(win, "win");
    if (*win == MPI_WIN_NULL) throw Error(ErrorKind::window, "the window is MPI_WIN_NULL");
    api::detach_window(*win);
    group::check_mpi(PMPI_Win_free(win), "MPI_Win_free");
  });
}
