// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include "api/errors.hpp"
#include "api/overlap.hpp"
#include "api/recorder.hpp"
#include "core/describe.hpp"
#include "core/library.hpp"
#include "core/queues.hpp"
#include "group/mpi_communicator.hpp"
#include "penstock/penstock.h"

using namespace penstock;
using base::Error;
using base::ErrorKind;

namespace {

void require_mpi(const std::string& call) {
  int initialised = 0;
  int finalised = 0;
  PMPI_Initialized(&initialised);
  PMPI_Finalized(&finalised);
  if (!initialised || finalised)
    throw Error(ErrorKind::not_initialized,
                call + " must be called between MPI_Init and MPI_Finalize");
}

}  // namespace

namespace penstock::api {

void give_text(const std::string& text, char* place, int size, int* length) {
  require_pointer(length, "length");
  if (size < 0)
    throw Error(ErrorKind::argument, "the size of the text is negative: " + std::to_string(size));
  if (size > 0) require_pointer(place, "json");
  *length = static_cast<int>(text.size());
  if (size > 0) std::snprintf(place, static_cast<std::size_t>(size), "%s", text.c_str());
}

}  // namespace penstock::api

int PST_Init(void) {
  return api::guard([] {
    core::Library::refuse_in_child();
    require_mpi("PST_Init");
    api::initialise_library();
    api::look_at_error_handler();
  });
}

int PST_Finalize(void) {
  return api::guard([] {
    core::Library::refuse_in_child();
    require_mpi("PST_Finalize");
    if (core::Library::finalised()) return;
    core::Library& library = core::Library::require();
    core::refuse_on_workers("PST_Finalize");
    library.queues().for_each([](core::Queue& each) { each.refuse_in_capture(); });
    api::finalise_library("PST_Finalize");
  });
}

int PST_Initialized(int* flag) {
  return api::guard_any_thread([&] {
    api::require_pointer(flag, "flag");
    *flag = core::Library::get() != nullptr ? 1 : 0;
  });
}

int PST_Get_version(int* major, int* minor, int* patch) {
  return api::guard_any_thread([&] {
    api::require_pointer(major, "major");
    api::require_pointer(minor, "minor");
    api::require_pointer(patch, "patch");
    *major = PST_VERSION_MAJOR;
    *minor = PST_VERSION_MINOR;
    *patch = PST_VERSION_PATCH;
  });
}

int PST_Describe(char* json, int size, int* length) {
  return api::guard_any_thread([&](core::Library& library) {
    const std::string version = std::to_string(PST_VERSION_MAJOR) + "." +
                                std::to_string(PST_VERSION_MINOR) + "." +
                                std::to_string(PST_VERSION_PATCH);
    api::give_text(core::describe(library, version, api::count_large_messages()), json, size,
                   length);
  });
}

int PST_Comm_attach(MPI_Comm comm) {
  return api::guard([&](core::Library&) { group::attach(comm); });
}
