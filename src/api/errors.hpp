// SPDX-License-Identifier: Apache-2.0
// Every extern "C" function is guard([&] { ... }) or guard_any_thread([&] { ... }): nothing is
// thrown across it, and every failure takes the same way out.
#pragma once

#include <mpi.h>

#include <exception>
#include <new>
#include <string>
#include <type_traits>

#include "api/recorder.hpp"
#include "base/error.hpp"
#include "core/library.hpp"
#include "core/request_error.hpp"

namespace penstock::api {

// Turns the exception that is being handled into an MPI error code, by report_error(). It may be
// called only inside a catch block.
int report_current_exception(Threads threads) noexcept;

// A body that takes the library is called where it is initialised; else that is the error.
template <class Body>
int guard_on(Threads threads, Body&& body) noexcept {
  try {
    if constexpr (std::is_invocable_v<Body&, core::Library&>)
      body(core::Library::require());
    else
      body();
    return MPI_SUCCESS;
  } catch (...) {
    return report_current_exception(threads);
  }
}

// Guards functions that the program must treat as calls of MPI.
template <class Body>
int guard(Body&& body) noexcept {
  return guard_on(Threads::as_mpi, body);
}

// Guards functions that any thread may call at any MPI thread level, the workers of streams too.
template <class Body>
int guard_any_thread(Body&& body) noexcept {
  return guard_on(Threads::any, body);
}

template <class T>
void require_pointer(const T* pointer, const char* what) {
  if (!pointer)
    throw base::Error(base::ErrorKind::argument, std::string(what) + " is a null pointer");
}

// What a function gives that fills in at most `size` characters, with a terminator, and the whole
// length. Throws base::Error(argument).
void give_text(const std::string& text, char* place, int size, int* length);

// Makes the MPI codes of all kinds, so that returning one never calls MPI. Calls MPI; does nothing
// the second time.
void make_error_codes() noexcept;
// The MPI code of a kind; MPI_ERR_OTHER before make_error_codes().
int error_code(base::ErrorKind kind) noexcept;
base::ErrorKind error_kind(int code) noexcept;
// Whether MPI_COMM_WORLD had MPI_ERRORS_ARE_FATAL when it was last looked at. Calls no MPI.
bool errors_are_fatal() noexcept;
void look_at_error_handler() noexcept;  // calls MPI
// The text of this thread's last error.
const char* last_error() noexcept;  // until its next one
// Makes MPI's text for an error code that is handed on that of last_error().
void note_mpi_error(int code) noexcept;

}  // namespace penstock::api
