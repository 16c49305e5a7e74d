// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>

#include "api/errors.hpp"
#include "api/handles.hpp"
#include "core/library.hpp"
#include "core/transports.hpp"
#include "penstock/penstock.h"

using namespace penstock;
using base::Error;
using base::ErrorKind;

namespace {

// The value of mpi_memory_alloc_kinds: kinds with optional restrictors,
// "system,cuda:device,mpi:alloc_mem".
bool names_a_served_kind(std::string_view kinds) {
  while (!kinds.empty()) {
    std::string_view kind = kinds.substr(0, kinds.find(','));
    kinds.remove_prefix(std::min(kinds.size(), kind.size() + 1));
    kind = kind.substr(0, kind.find(':'));
    if (kind == "system" || kind == "mpi") return true;
  }
  return false;
}

}  // namespace

namespace penstock::api {

void require_served_kinds(MPI_Info info) {
  if (info == MPI_INFO_NULL) return;
  std::array<char, MPI_MAX_INFO_VAL + 1> kinds{};
  int found = 0;
  if (PMPI_Info_get(info, "mpi_memory_alloc_kinds", MPI_MAX_INFO_VAL, kinds.data(), &found) !=
          MPI_SUCCESS ||
      !found)
    return;
  if (!names_a_served_kind(kinds.data()))
    throw Error(ErrorKind::unsupported,
                std::string("PST_Alloc_mem cannot give memory of the kinds \"") + kinds.data() +
                    "\": this library serves \"system\" and \"mpi\"");
}

}  // namespace penstock::api

int PST_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  return api::guard_any_thread([&](core::Library& library) {
    api::require_pointer(baseptr, "baseptr");
    if (size < 0)
      throw Error(ErrorKind::argument,
                  "the size of the memory is negative: " + std::to_string(size));
    api::require_served_kinds(info);
    *static_cast<void**>(baseptr) =
        library.transports().peer().memory().allocate(static_cast<std::size_t>(size));
  });
}

int PST_Free_mem(void* base) {
  return api::guard_any_thread([&](core::Library& library) {
    if (base && !library.transports().peer().memory().free(base))
      throw Error(
          ErrorKind::argument,
          "the address is not one of PST_Alloc_mem, or has been freed already: free each once");
  });
}
