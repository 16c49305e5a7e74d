// SPDX-License-Identifier: Apache-2.0
#include "api/errors.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>

#include "base/forked.hpp"
#include "base/log.hpp"
#include "base/thread_own.hpp"
#include "core/library.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"
#include "penstock/penstock.h"

namespace penstock::api {

using base::Error;
using base::ErrorKind;

namespace {

constexpr int kinds = PST_ERROR_ASSERTION + 1;
static_assert(static_cast<int>(ErrorKind::internal) == PST_ERROR_INTERNAL);
static_assert(static_cast<int>(ErrorKind::forked) == PST_ERROR_FORKED);
static_assert(static_cast<int>(ErrorKind::range) == PST_ERROR_RANGE);
static_assert(static_cast<int>(ErrorKind::assertion) == PST_ERROR_ASSERTION);
static_assert(static_cast<int>(ErrorKind::truncate) == PST_ERROR_TRUNCATE);
static_assert(static_cast<int>(ErrorKind::peer_dead) == PST_ERROR_PEER_DEAD);
static_assert(static_cast<int>(ErrorKind::setting) == PST_ERROR_SETTING);

// What MPI_Error_string gives. Under 256 characters: a longer text overruns MPICH's internal
// buffers.
constexpr std::array<const char*, kinds> texts{
    "Penstock: no error",
    "Penstock: not initialised: call PST_Init after MPI_Init, nothing after PST_Finalize "
    "or MPI_Finalize; PST_Last_error says why MPI_Init alone has not done it",
    "Penstock: invalid argument: a null pointer, a negative count, a rank or tag out of range, a "
    "wildcard, an unknown enumerator, a datatype that cannot be matched; PST_Last_error tells "
    "which",
    "Penstock: null or freed queue: make one with PST_Queue_init",
    "Penstock: null, freed or unsuitable stream: make one with PST_Stream_create",
    "Penstock: the request is null, freed, not persistent or not recorded: make it with "
    "MPI_Send_init or its kind",
    "Penstock: the request is not matched: hand it "
    "to PST_Match or PST_Matchall first, on both ends",
    "Penstock: the request is matched already, or a "
    "match of it is under way: match each request once",
    "Penstock: the request is started already, or stands twice "
    "among the requests: enqueue its wait before the next start",
    "Penstock: the request is not started, or has its wait already: enqueue "
    "its start before its wait; PST_Enqueue_run enqueues both",
    "Penstock: the request was started on another queue: enqueue its wait there",
    "Penstock: still in use: trigger enqueued messages, enqueue the wait of a started request, "
    "free a stream's queues, before freeing it",
    "Penstock: the communicator is unknown (call PST_Comm_attach on all its members) or reaches "
    "beyond MPI_COMM_WORLD",
    "Penstock: the receive is shorter than the matched send: make its buffer larger",
    "Penstock: a buffered send found all its buffers in use: let the receiver catch up, or raise "
    "PENSTOCK_SLOTS",
    "Penstock: no allowed transport can serve the pair: PST_Last_error says why for each; see "
    "PENSTOCK_TRANSPORT",
    "Penstock: needs MPI_THREAD_MULTIPLE: call MPI_Init_thread, or set PENSTOCK_THREAD_MULTIPLE=1",
    "Penstock: this kind of request or queue is not supported by this version: PST_Last_error says "
    "what is",
    "Penstock: out of memory, threads, descriptors or tags: PST_Last_error tells which",
    "Penstock: the peer process has ended: see its output",
    "Penstock: the peer has freed its half of the pair, or has called "
    "MPI_Finalize: free this one too, and match new requests on both ends",
    "Penstock: PENSTOCK_TIMEOUT has passed: see that the other half "
    "is matched, and started as often, and that neither rank waits "
    "for the other before that; SIGUSR1 prints what a rank waits for",
    "Penstock: a ready send was started before its "
    "receive: use a standard send, or order the start",
    "Penstock: an environment variable has an invalid value: PST_Last_error lists the valid ones",
    "Penstock: the MPI library reported an error: PST_Last_error has its text",
    "Penstock: internal error: please report it with the text of PST_Last_error",
    "Penstock: called in a child of fork(): only the process that called MPI_Init may use Penstock",
    "Penstock: the window is null, freed or not attached: make it with PST_Win_create or "
    "PST_Win_allocate, or call PST_Win_attach on all its members",
    "Penstock: no such epoch of streams is open, or one is already, or the rank is not in its "
    "group: "
    "PST_Last_error tells which",
    "Penstock: the operation reaches beyond the target's part of the window",
    "Penstock: a receive is not as long as its message, which PENSTOCK_OVERLAP=exact promises: see "
    "PST_Last_error, or leave PENSTOCK_OVERLAP off",
};

std::array<std::atomic<int>, kinds> codes{};  // 0 (MPI_SUCCESS): not made yet

std::atomic<bool> fatal_handler{true};  // as MPI begins

bool mpi_is_up() noexcept {
  int initialised = 0;
  int finalised = 0;
  PMPI_Initialized(&initialised);
  PMPI_Finalized(&finalised);
  return initialised && !finalised;
}

// A class of its own for each kind: codes added to predefined classes confuse both MPICH and Open
// MPI.
int make_code(ErrorKind kind) noexcept {
  int error_class = MPI_ERR_OTHER;
  int code = MPI_ERR_OTHER;
  const char* text = texts[static_cast<std::size_t>(kind)];
  if (PMPI_Add_error_class(&error_class) != MPI_SUCCESS) return MPI_ERR_OTHER;
  PMPI_Add_error_string(error_class, const_cast<char*>(text));
  if (PMPI_Add_error_code(error_class, &code) != MPI_SUCCESS) return error_class;
  PMPI_Add_error_string(code, const_cast<char*>(text));
  return code;
}

// Whether an error handler may run on this thread. At MPI_THREAD_SERIALIZED only where the call
// counts as one of MPI: otherwise another thread may be inside MPI right now.
bool may_call_handler(Threads threads) noexcept {
  if (core::Library* library = core::Library::get()) {
    const bool serialized = library->world().thread_level() == group::ThreadLevel::serialized;
    return serialized ? threads == Threads::as_mpi : library->may_call_mpi();
  }
  int level = MPI_THREAD_SINGLE;
  int main_thread = 0;
  PMPI_Query_thread(&level);  // these two may be asked by any thread
  PMPI_Is_thread_main(&main_thread);
  if (level == MPI_THREAD_SERIALIZED) return threads == Threads::as_mpi;
  return level == MPI_THREAD_MULTIPLE || main_thread;
}

struct LastText {
  std::string text;
};

// `make` gives the text. An old one must not stand for an error that there was no memory to
// describe.
template <class Make>
void keep_text(Make&& make) noexcept {
  try {
    auto& last = base::thread_own<LastText>();
    last.text.clear();
    last.text = make();
  } catch (const std::exception&) {
  }
}

}  // namespace

// MPI may call this back while it holds a lock of its own, as in MPI_Cancel: then all are made, and
// no lock of ours is taken.
void make_error_codes() noexcept {
  static std::mutex mutex;
  static std::atomic<bool> made{false};
  if (made.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex);
  for (std::size_t kind = 1; kind < codes.size(); ++kind)
    if (codes[kind].load(std::memory_order_relaxed) == 0)
      codes[kind].store(make_code(static_cast<ErrorKind>(kind)), std::memory_order_release);
  const bool all = std::all_of(codes.begin() + 1, codes.end(), [](const auto& code) {
    return code.load(std::memory_order_relaxed) != 0;
  });
  made.store(all, std::memory_order_release);
}

int error_code(ErrorKind kind) noexcept {
  if (kind == ErrorKind::none) return MPI_SUCCESS;
  if (kind == ErrorKind::truncate) return MPI_ERR_TRUNCATE;
  const int code = codes[static_cast<std::size_t>(kind)].load(std::memory_order_acquire);
  return code == 0 ? MPI_ERR_OTHER : code;
}

ErrorKind error_kind(int code) noexcept {
  if (code == MPI_SUCCESS) return ErrorKind::none;
  if (code == MPI_ERR_TRUNCATE) return ErrorKind::truncate;
  for (std::size_t kind = 1; kind < codes.size(); ++kind)
    if (codes[kind].load(std::memory_order_acquire) == code) return static_cast<ErrorKind>(kind);
  return ErrorKind::mpi;
}

bool errors_are_fatal() noexcept {
  return fatal_handler.load(std::memory_order_relaxed);
}

void look_at_error_handler() noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler) != MPI_SUCCESS) return;
  fatal_handler.store(handler == MPI_ERRORS_ARE_FATAL, std::memory_order_relaxed);
  if (handler != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&handler);
}

const char* last_error() noexcept {
  try {
    return base::thread_own<LastText>().text.c_str();
  } catch (const std::bad_alloc&) {
    return "";
  }
}

void note_mpi_error(int code) noexcept {
  keep_text([code] { return group::mpi_error_text(code); });
}

int report_error(const Error& error, const group::Communicator* communicator,
                 Threads threads) noexcept {
  keep_text([&error] { return error.text(); });
  // An error handler could end the job of the parent.
  if (base::forked()) return error_code(error.kind());
  const bool initialised = core::Library::get() != nullptr;
  if (!initialised && !mpi_is_up()) {
    std::fprintf(stderr, "penstock: %s\n", error.what());
    return MPI_ERR_OTHER;
  }
  base::log::error(error.text());
  if (!may_call_handler(threads)) return initialised ? error_code(error.kind()) : MPI_ERR_OTHER;
  make_error_codes();
  const int code = error_code(error.kind());
  group::call_errhandler(communicator, code);
  return code;
}

int report_current_exception(Threads threads) noexcept {
  try {
    throw;
  } catch (const core::RequestError& error) {
    return report_error(error, error.communicator().get(), threads);
  } catch (const Error& error) {
    return report_error(error, nullptr, threads);
  } catch (const std::bad_alloc&) {
    return report_error(Error(ErrorKind::resources), nullptr, threads);
  } catch (const std::exception& failure) {
    const auto text = [&] { return failure.what(); };
    return report_error(base::error_by(ErrorKind::internal, text), nullptr, threads);
  } catch (...) {
    const auto text = [] { return "an exception of unknown type"; };
    return report_error(base::error_by(ErrorKind::internal, text), nullptr, threads);
  }
}

}  // namespace penstock::api

using namespace penstock;

int PST_Error_kind(int code, PST_Error* kind) {
  return api::guard_any_thread([&] {
    api::require_pointer(kind, "kind");
    *kind = static_cast<PST_Error>(api::error_kind(code));
  });
}

int PST_Last_error(char* text, int size) {
  if (!text || size <= 0)
    return api::guard_any_thread([&] {
      throw base::Error(base::ErrorKind::argument,
                        "PST_Last_error needs a buffer of at least one character");
    });
  std::snprintf(text, static_cast<std::size_t>(size), "%s", api::last_error());
  return MPI_SUCCESS;
}
