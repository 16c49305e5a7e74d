// SPDX-License-Identifier: Apache-2.0
// MPI_Init and MPI_Finalize; what PST_Init does; and whether the recorder is reached at all.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "api/enqueued.hpp"
#include "api/errors.hpp"
#include "api/half_types.hpp"
#include "api/mpi_of_build.hpp"
#include "api/overlap.hpp"
#include "api/recorder.hpp"
#include "api/teams.hpp"
#include "api/windows.hpp"
#include "base/forked.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "core/library.hpp"
#include "group/mpi_layout.hpp"
#include "group/world.hpp"

namespace penstock::api {

namespace {

// Going on would corrupt memory.
void require_mpi_of_this_build() {
  if (loaded_mpi_is_of_family()) return;
  std::fprintf(stderr,
               "penstock: this libpenstock was built for %s, but the program runs "
               "on another MPI (%s): use a libpenstock that was built for it\n",
               mpi_family_of_build(), group::loaded_mpi().c_str());
  std::_Exit(EXIT_FAILURE);
}

std::atomic<bool> mpi_init_came_through{false};

std::string look_where_mpi_send_init_is() {
  void* const found = dlsym(RTLD_DEFAULT, "MPI_Send_init");
  Dl_info theirs{}, ours{};
  link_map* map = nullptr;
  if (found == nullptr ||
      dladdr1(found, &theirs, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0)
    return "";
  if (dladdr(reinterpret_cast<void*>(&look_where_mpi_send_init_is), &ours) == 0) return "";
  if (theirs.dli_fbase == ours.dli_fbase) return "";
  // In a program that is not position-independent a function's address may be that of the program's
  // own jump to it.
  const bool in_program = map != nullptr && (map->l_name == nullptr || map->l_name[0] == '\0');
  if (in_program && mpi_init_came_through.load(std::memory_order_relaxed)) return "";
  return std::string("MPI_Send_init resolves to ") +
         (theirs.dli_fname != nullptr ? theirs.dli_fname : "another library") +
         " and not to libpenstock: name libpenstock before the MPI library when linking, or "
         "preload it with LD_PRELOAD, or make requests with PST_Send_init and its kind (attach "
         "communicators with PST_Comm_attach, call PST_Is_matched while MPI_Test waits for "
         "PST_Imatch below MPI_THREAD_MULTIPLE, and call PST_Finalize before MPI_Finalize)";
}

// ---- Clean-up

extern "C" int penstock_self_deleted(MPI_Comm, int, void*, void*) {
  finalise_library("MPI_Finalize");
  return MPI_SUCCESS;
}

// MPI_Finalize begins as if it freed MPI_COMM_SELF, while MPI still works, and whether or not we
// see the call.
bool hang_clean_up() {
  int keyval = MPI_KEYVAL_INVALID;
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, penstock_self_deleted, &keyval, nullptr) !=
      MPI_SUCCESS)
    return false;
  const bool hung = PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr) == MPI_SUCCESS;
  PMPI_Comm_free_keyval(&keyval);  // it lives on with the attribute
  return hung;
}

// ---- MPI_Init

bool wants_thread_multiple() noexcept {
  try {
    return base::Settings::from_environment().thread_multiple;
  } catch (const std::exception&) {
    return false;  // reported by initialise_library()
  }
}

// A program that uses none of our functions goes on after a failure here; one that does hears of it
// from PST_Init.
void initialise_from_mpi_init() noexcept {
  mpi_init_came_through.store(true, std::memory_order_relaxed);
  base::log::failures_in([&] {
    try {
      initialise_library();
    } catch (const base::Error& error) {
      throw base::Error(error.kind(),
                        std::string(error.text()) + "; the program goes on by MPI alone");
    }
  });
}

int init(int* argc, char*** argv, bool with_thread, int required, int* provided) {
  require_mpi_of_this_build();
  const bool raise = required != MPI_THREAD_MULTIPLE && wants_thread_multiple();
  int given = MPI_THREAD_SINGLE;
  const int code =
      with_thread || raise
          ? PMPI_Init_thread(argc, argv, raise ? MPI_THREAD_MULTIPLE : required, &given)
          : PMPI_Init(argc, argv);
  if (provided != nullptr) *provided = given;
  if (code != MPI_SUCCESS) return code;
  initialise_from_mpi_init();
  if (raise)
    base::log::info(std::string("PENSTOCK_THREAD_MULTIPLE=1: the program asked for ") +
                    group::name_of(group::thread_level_of(required)) +
                    ", MPI was asked for MPI_THREAD_MULTIPLE and gives " +
                    group::name_of(group::thread_level_of(given)));
  return code;
}

}  // namespace

void initialise_library() {
  require_mpi_of_this_build();
  if (core::Library::get() != nullptr) return;
  if (core::Library::finalised())
    throw base::Error(base::ErrorKind::not_initialized,
                      "Penstock has ended by PST_Finalize: it cannot begin again");
  make_error_codes();
  core::Library::initialise();
  static const bool cleaned_up = hang_clean_up();
  if (!cleaned_up)
    base::log::warn(
        "MPI refuses an attribute on MPI_COMM_SELF: nothing is cleaned up in MPI_Finalize");
  if (!why_not_recording().empty()) base::log::warn(why_not_recording());
  begin_overlap();
}

namespace {

void end_when_drained() noexcept {
  end_overlap();
  end_enqueued();
  end_team_memory();
}

}  // namespace

void finalise_library(const char* call) noexcept {
  if (base::forked()) return;
  end_windows();
  core::Library::finalise(call, end_when_drained);
  free_half_types();
  group::MpiLayout::free_unused();
}

const std::string& why_not_recording() {
  // Never destroyed: exit handlers may still ask.
  static const auto* const why = new std::string(look_where_mpi_send_init_is());
  return *why;
}

}  // namespace penstock::api

int MPI_Init(int* argc, char*** argv) {
  return penstock::api::init(argc, argv, false, MPI_THREAD_SINGLE, nullptr);
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return penstock::api::init(argc, argv, true, required, provided);
}

// Our threads end before MPI_Finalize begins: MPICH runs the attribute's callback when it has given
// up its locks already, and a progress thread that is inside MPI just then would break it. The
// attribute is for programs whose MPI_Finalize is not intercepted.
int MPI_Finalize() {
  penstock::api::finalise_library("MPI_Finalize");
  return PMPI_Finalize();
}
