// SPDX-License-Identifier: Apache-2.0
// Every extern "C" function is guard([&] { ... }): nothing is thrown across it, and every failure takes the same way
// out.
#pragma once

#include <mpi.h>

#include <exception>
#include <new>

#include "api/recorder.hpp"
#include "base/error.hpp"
#include "core/operation_error.hpp"

namespace penstock::api {

// Turns the exception that is being handled into an MPI error code, by report_error(). Only inside a catch block.
int report_current_exception() noexcept;

template <class Body>
int guard(Body&& body) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (...) {
    return report_current_exception();
  }
}

template <class T>
void require_pointer(const T* pointer, const char* what) {
  if (!pointer) throw base::Error(base::ErrorKind::argument, std::string(what) + " is a null pointer");
}

// The MPI code of a kind; made on first use.
int error_code(base::ErrorKind kind) noexcept;
base::ErrorKind error_kind(int code) noexcept;
// The text of this thread's last error.
const std::string& last_error() noexcept;
// Makes MPI's text for an error code that is handed on that of last_error().
void note_mpi_error(int code) noexcept;

}  // namespace penstock::api
