// SPDX-License-Identifier: Apache-2.0
//
// Penstock in C++20: owners and views over the C API, header-only.
//
// Conventions:
//   1. An owner (Stream, Queue, Datatype, Request, Requests, Buffer) frees what it holds; it can be
//      moved, not copied. A view (StreamView, QueueView, RequestView) is a handle that owns
//      nothing; every owner of a handle is also a view of it, so that a function takes views and is
//      given either. A view must not outlive its owner.
//   2. A call that fails throws penstock::Error. The MPI error handler runs first, on threads that
//      may call MPI, and MPI's default one ends the job: call penstock::return_errors() once where
//      exceptions are wanted.
//   3. Destructors never throw and do nothing after MPI_Finalize, when the library has already
//      released everything, nor in a child of fork(), where everything is the parent's. Those that
//      block say so. free() does the same and reports errors.
//   4. "Blocks" and "stream order" mean what penstock.h says, as do the rules for threads.
#pragma once

#if __cplusplus < 202002L
#error "penstock/penstock.hpp needs C++20: compile with -std=c++20"
#else  // nothing else, so that the error stands alone

#include <penstock/penstock.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock {

// ---- Errors ------------------------------------------------------------------------------------

// A failed call: its MPI error code, the kind of the error and the text of PST_Last_error (peer,
// tag, bytes, what to do).
class Error : public std::runtime_error {
 public:
  Error(int code, PST_Error kind, const std::string& text)
      : std::runtime_error(text), code_(code), kind_(kind) {}

  int code() const noexcept { return code_; }
  PST_Error kind() const noexcept { return kind_; }

 private:
  int code_;
  PST_Error kind_;
};

namespace detail {

[[noreturn]] inline void throw_error(int code, const char* call) {
  PST_Error kind = PST_ERROR_MPI;
  PST_Error_kind(code, &kind);
  char text[1024] = "";
  PST_Last_error(text, static_cast<int>(sizeof text));
  throw Error(
      code, kind,
      std::string(call) + ": " + (text[0] != '\0' ? text : "the MPI library reported an error"));
}

inline void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw_error(code, call);
}

// For calls of MPI's own, which know nothing of PST_Last_error.
inline void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(code, PST_ERROR_MPI, std::string(call) + ": " + text);
}

// True between MPI_Init and MPI_Finalize: outside, a destructor has nothing of MPI left to free.
inline bool mpi_is_running() noexcept {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

// The same for what is Penstock's, which may end before MPI.
inline bool library_is_running() noexcept {
  int running = 0;
  PST_Initialized(&running);
  return running != 0;
}

template <class Callable>
concept Launchable = requires(std::decay_t<Callable> copy) {
  copy();
};

template <class Number>
concept NumberOtherThanRequest = std::integral<Number> && !std::same_as<Number, MPI_Request>;

inline int to_count(std::size_t count) {
  if (count > 0x7fffffffU) throw std::length_error("penstock: a count must fit into an int");
  return static_cast<int>(count);
}

}  // namespace detail

// Makes errors of this communicator come back as return values, and so as exceptions. Errors of
// queues and streams belong to MPI_COMM_WORLD. Does not block.
inline void return_errors(MPI_Comm comm = MPI_COMM_WORLD) {
  detail::check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

// ---- Library -----------------------------------------------------------------------------------

// PST_Init: collective over MPI_COMM_WORLD; blocks until all ranks have called it. Not needed where
// MPI_Init is libpenstock's.
inline void initialize() {
  detail::check(PST_Init(), "PST_Init");
}

// PST_Finalize: collective over MPI_COMM_WORLD; blocks until what is enqueued has completed. Not
// needed where MPI_Finalize is libpenstock's. What outlives it has nothing left to free.
inline void finalize() {
  detail::check(PST_Finalize(), "PST_Finalize");
}

namespace detail {

// The whole text of a function that writes as much as there is room for.
template <class Write>
std::string whole_text(Write&& write, const char* call) {
  int length = 0;
  check(write(nullptr, 0, &length), call);
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  check(write(text.data(), to_count(text.size()), &length), call);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace detail

// What the library found, as JSON (PST_Describe). Does not block.
inline std::string describe() {
  return detail::whole_text(PST_Describe, "PST_Describe");
}

// What it makes of the environment, as JSON (PST_Describe_environment). Works at any time.
inline std::string describe_environment() {
  return detail::whole_text(PST_Describe_environment, "PST_Describe_environment");
}

// ---- Streams -----------------------------------------------------------------------------------

// A host stream that somebody else owns.
class StreamView {
 public:
  StreamView(PST_Stream stream) noexcept : handle_(stream) {}
  StreamView(int) = delete;
  StreamView(std::nullptr_t) = delete;

  PST_Stream get() const noexcept { return handle_; }

  // Enqueues function(argument). Does not block. Stream order: after all earlier work, before all
  // later work.
  void launch(void (*function)(void*), void* argument) const {
    detail::check(PST_Stream_launch(handle_, function, argument), "PST_Stream_launch");
  }

  // Enqueues a call of `callable`, which is not copied: it must live until the stream has run it,
  // and may then be launched again. Allocates nothing. Does not block; stream order as above. The
  // callable must not throw (std::terminate) and must not wait for a stream, a queue or a message.
  template <std::invocable Callable>
  void launch(std::reference_wrapper<Callable> callable) const {
    launch([](void* object) noexcept { (*static_cast<Callable*>(object))(); },
           const_cast<void*>(static_cast<const void*>(std::addressof(callable.get()))));
  }

  // Enqueues a call of a copy of `callable`. The copy belongs to the stream and is destroyed on it
  // right after its one run, so what it captured by value lives exactly as long as the stream's
  // program needs it. Otherwise as above.
  template <detail::Launchable Callable>
  void launch(Callable&& callable) const {
    using Owned = std::decay_t<Callable>;
    auto owned = std::make_unique<Owned>(std::forward<Callable>(callable));
    launch([](void* object) noexcept { (*std::unique_ptr<Owned>(static_cast<Owned*>(object)))(); },
           owned.get());
    static_cast<void>(owned.release());
  }

  // Blocks the caller until everything enqueued before has ended.
  void synchronize() const {
    detail::check(PST_Stream_synchronize(handle_), "PST_Stream_synchronize");
  }

 protected:
  PST_Stream handle_;
};

// Owns a host stream. Free the queues over it first. The destructor blocks until the stream's work
// has ended.
class Stream : public StreamView {
 public:
  Stream() : StreamView(PST_STREAM_NULL) {
    detail::check(PST_Stream_create(&handle_), "PST_Stream_create");
  }
  Stream(Stream&& other) noexcept : StreamView(std::exchange(other.handle_, PST_STREAM_NULL)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Stream() {
    if (handle_ != PST_STREAM_NULL && detail::library_is_running()) PST_Stream_free(&handle_);
  }

  // Frees now and reports errors. Blocks as the destructor does.
  void free() { detail::check(PST_Stream_free(&handle_), "PST_Stream_free"); }
};

// ---- Requests ----------------------------------------------------------------------------------

// A persistent MPI request that somebody else owns. Handles keep their value, so that a copy
// denotes the same request.
class RequestView {
 public:
  RequestView(MPI_Request request) noexcept : handle_(request) {}
  RequestView(std::nullptr_t) = delete;
  // Where MPI_Request is a pointer, 0 is refused too; where it is an int, 0 cannot be told from a
  // handle.
  template <detail::NumberOtherThanRequest Number>
  RequestView(Number) = delete;

  MPI_Request get() const noexcept { return handle_; }

  // Does not block; drives matches that are under way.
  bool is_matched() const {
    int flag = 0;
    detail::check(PST_Is_matched(handle_, &flag), "PST_Is_matched");
    return flag != 0;
  }

  // Source, tag and size as resolved by the match. Does not block.
  MPI_Status match_status() const {
    MPI_Status status;
    detail::check(PST_Match_status(handle_, &status), "PST_Match_status");
    return status;
  }

  // The name of the transport that serves the matched request. Does not block.
  std::string transport() const {
    char name[64];
    detail::check(PST_Request_transport(handle_, name, static_cast<int>(sizeof name)),
                  "PST_Request_transport");
    return name;
  }

 protected:
  MPI_Request handle_;
};

// Owns a persistent request. The destructor frees it without waiting for the peer; wait for it
// first.
class Request : public RequestView {
 public:
  // Takes over a request made by MPI_Send_init, PST_Send_init or another of their family.
  explicit Request(MPI_Request request) noexcept : RequestView(request) {}
  Request(Request&& other) noexcept : RequestView(other.release()) {}
  Request& operator=(Request&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Request() {
    if (handle_ != MPI_REQUEST_NULL && detail::mpi_is_running()) PST_Request_free(&handle_);
  }

  // Frees now and reports errors. Does not block.
  void free() { detail::check(PST_Request_free(&handle_), "PST_Request_free"); }

  MPI_Request release() noexcept { return std::exchange(handle_, MPI_Request{MPI_REQUEST_NULL}); }
};

// Owns persistent requests that are started and waited for together: an array as the C API takes
// it.
class Requests {
 public:
  Requests() = default;
  Requests(Requests&&) noexcept = default;
  Requests& operator=(Requests&& other) noexcept {
    handles_.swap(other.handles_);
    return *this;
  }
  ~Requests() {
    if (handles_.empty() || !detail::mpi_is_running()) return;
    for (MPI_Request& handle : handles_) PST_Request_free(&handle);
  }

  void add(Request request) {
    handles_.push_back(request.get());
    static_cast<void>(request.release());
  }

  std::size_t size() const noexcept { return handles_.size(); }
  RequestView operator[](std::size_t index) const { return handles_[index]; }
  std::span<MPI_Request> all() noexcept { return handles_; }
  operator std::span<MPI_Request>() noexcept { return handles_; }

 private:
  std::vector<MPI_Request> handles_;
};

// Owns a datatype of MPI's, which says where the elements of a message lie. Requests keep what they
// need of it: it may end before they do. No function here blocks; MPI's errors are thrown.
class Datatype {
 public:
  // Takes over a datatype made by MPI_Type_create_struct or another of its family, and commits it.
  // Not for MPI's own, such as MPI_DOUBLE, which cannot be freed: pass that as it is.
  explicit Datatype(MPI_Datatype made) : Datatype() {
    handle_ = made;  // the destructor has it, if the next call throws
    detail::check_mpi(MPI_Type_commit(&handle_), "MPI_Type_commit");
  }
  // `blocks` blocks of `length` elements, each `stride` elements behind the one before: a column of
  // a matrix in rows of `stride` elements, say.
  static Datatype vector(int blocks, int length, int stride, MPI_Datatype element) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    detail::check_mpi(MPI_Type_vector(blocks, length, stride, element, &made), "MPI_Type_vector");
    return Datatype(made);
  }
  // The block of part[0] x part[1] x ... elements that begins at the index first[0], first[1], ...
  // of an array of sizes[0] x sizes[1] x ... elements, whose last index is the fastest. The face
  // x = 1 of a box is subarray({nz, ny, nx}, {nz, ny, 1}, {0, 0, 1}, MPI_DOUBLE). The request is
  // given the address of the whole array and the count 1. Error: std::invalid_argument where the
  // block leaves the array, which MPI may take without a word.
  template <std::size_t dimensions>
  static Datatype subarray(const int (&sizes)[dimensions], const int (&part)[dimensions],
                           const int (&first)[dimensions], MPI_Datatype element) {
    return subarray(std::span(sizes), std::span(part), std::span(first), element);
  }
  static Datatype subarray(std::span<const int> sizes, std::span<const int> part,
                           std::span<const int> first, MPI_Datatype element) {
    if (sizes.size() != part.size() || sizes.size() != first.size())
      throw std::invalid_argument("penstock: sizes, part and first of a subarray differ in length");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (part[i] >= 1 && first[i] >= 0 && part[i] <= sizes[i] && first[i] <= sizes[i] - part[i])
        continue;
      throw std::invalid_argument("penstock: subarray, index " + std::to_string(i) + ": " +
                                  std::to_string(part[i]) + " from " + std::to_string(first[i]) +
                                  " on leave an array of " + std::to_string(sizes[i]));
    }
    MPI_Datatype made = MPI_DATATYPE_NULL;
    detail::check_mpi(
        MPI_Type_create_subarray(detail::to_count(sizes.size()), sizes.data(), part.data(),
                                 first.data(), MPI_ORDER_C, element, &made),
        "MPI_Type_create_subarray");
    return Datatype(made);
  }
  Datatype(Datatype&& other) noexcept : Datatype() { std::swap(handle_, other.handle_); }
  Datatype& operator=(Datatype&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  // Leaves it to MPI where the library is not running, as in a child of fork().
  ~Datatype() {
    const bool owned = handle_ != MPI_DATATYPE_NULL;
    if (owned && detail::mpi_is_running() && detail::library_is_running()) MPI_Type_free(&handle_);
  }

  MPI_Datatype get() const noexcept { return handle_; }
  operator MPI_Datatype() const noexcept { return handle_; }

 private:
  Datatype() = default;

  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

// The datatype of halves, which is the library's own and is not freed. Throws Error.
inline MPI_Datatype datatype(PST_Type kind) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  detail::check(PST_Type_get(kind, &type), "PST_Type_get");
  return type;
}

// Which half an element type of the program's is; datatype<T>() knows it then:
//   template <>
//   inline constexpr std::optional<PST_Type> penstock::half_type<__half> = PST_TYPE_FLOAT16;
template <class T>
inline constexpr std::optional<PST_Type> half_type;

// The MPI type of an element, which is MPI's own, or of a half the library's, and is not freed;
// others are sent by send_init() with a datatype.
template <class Element>
MPI_Datatype datatype() {
  using T = std::remove_cv_t<Element>;
  // clang-format off
  if constexpr (std::same_as<T, std::byte>) return MPI_BYTE;
  else if constexpr (std::same_as<T, char>) return MPI_CHAR;
  else if constexpr (std::same_as<T, signed char>) return MPI_SIGNED_CHAR;
  else if constexpr (std::same_as<T, unsigned char>) return MPI_UNSIGNED_CHAR;
  else if constexpr (std::same_as<T, short>) return MPI_SHORT;
  else if constexpr (std::same_as<T, unsigned short>) return MPI_UNSIGNED_SHORT;
  else if constexpr (std::same_as<T, int>) return MPI_INT;
  else if constexpr (std::same_as<T, unsigned>) return MPI_UNSIGNED;
  else if constexpr (std::same_as<T, long>) return MPI_LONG;
  else if constexpr (std::same_as<T, unsigned long>) return MPI_UNSIGNED_LONG;
  else if constexpr (std::same_as<T, long long>) return MPI_LONG_LONG;
  else if constexpr (std::same_as<T, unsigned long long>) return MPI_UNSIGNED_LONG_LONG;
  else if constexpr (std::same_as<T, float>) return MPI_FLOAT;
  else if constexpr (std::same_as<T, double>) return MPI_DOUBLE;
  else if constexpr (half_type<T>.has_value()) return datatype(*half_type<T>);
  else static_assert(!sizeof(T), "no MPI type is known for this element type: send its bytes, or give send_init() a datatype");
  // clang-format on
}

// The mode of a send: what its completion and its start mean, as in MPI.
enum class Mode { standard, synchronous, ready, buffered };

// Elements that stand one behind the other: a vector, an array, a span. Not a container that ends
// with the call.
template <class Range>
concept Elements = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::ranges::borrowed_range<Range>;

// Makes a persistent send of `count` elements of `type`, a committed datatype, as MPI's own call
// does: for what lies with gaps. `buffer` is an address, as a container's data() gives it. The
// request keeps what it needs of the type, which may be freed. Does not block; MPI's errors are
// thrown.
inline Request send_init(const void* buffer, int count, MPI_Datatype type, int destination, int tag,
                         MPI_Comm comm, Mode mode = Mode::standard) {
  constexpr decltype(&PST_Send_init) make[] = {PST_Send_init, PST_Ssend_init, PST_Rsend_init,
                                               PST_Bsend_init};
  MPI_Request request = MPI_REQUEST_NULL;
  detail::check(make[static_cast<int>(mode)](buffer, count, type, destination, tag, comm, &request),
                "PST_Send_init");
  return Request(request);
}

// Makes a persistent receive: as with send_init.
inline Request recv_init(void* buffer, int count, MPI_Datatype type, int source, int tag,
                         MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  detail::check(PST_Recv_init(buffer, count, type, source, tag, comm, &request), "PST_Recv_init");
  return Request(request);
}

// Makes a persistent send of `elements`, which must outlive the request and stay where they are (a
// vector must not grow). Does not block; MPI's errors are thrown.
template <Elements Range>
Request send_init(Range&& elements, int destination, int tag, MPI_Comm comm,
                  Mode mode = Mode::standard) {
  const std::span data(elements);
  return send_init(data.data(), detail::to_count(data.size()),
                   datatype<typename decltype(data)::element_type>(), destination, tag, comm, mode);
}

// Makes a persistent receive into `elements`: as with send_init.
template <Elements Range>
Request recv_init(Range&& elements, int source, int tag, MPI_Comm comm) {
  const std::span data(elements);
  return recv_init(data.data(), detail::to_count(data.size()),
                   datatype<typename decltype(data)::element_type>(), source, tag, comm);
}

// ---- Matching ----------------------------------------------------------------------------------

// Pairs the request with its peer's, permanently. Blocks until the peer has handed its half to
// match.
inline MPI_Status match(RequestView request) {
  MPI_Request handle = request.get();
  MPI_Status status;
  detail::check(PST_Match(&handle, &status), "PST_Match");
  return status;
}

// The same for an array. Send and receive to oneself may stand in one call. Blocks until every peer
// has handed its halves to match.
inline void match(std::span<MPI_Request> requests) {
  detail::check(
      PST_Matchall(detail::to_count(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
      "PST_Matchall");
}

// The same without blocking: complete the returned request with MPI_Wait or MPI_Test.
inline MPI_Request match_later(std::span<MPI_Request> requests) {
  MPI_Request matching = MPI_REQUEST_NULL;
  detail::check(PST_Imatchall(detail::to_count(requests.size()), requests.data(), &matching),
                "PST_Imatchall");
  return matching;
}

// ---- Queues ------------------------------------------------------------------------------------

// Promises that all messages on the communicator are enqueued at both ends, by QueueView::send and
// receive: they are counted and not matched, and small ones between processes of a host go without
// MPI. Collective; blocks until all members have called it, as MPI_Comm_free of it does then.
inline void enqueue_only(MPI_Comm comm) {
  detail::check(PST_Comm_enqueue_only(comm), "PST_Comm_enqueue_only");
}

// A queue that somebody else owns. No call blocks but wait().
class QueueView {
 public:
  QueueView(PST_Queue queue) noexcept : handle_(queue) {}
  QueueView(int) = delete;
  QueueView(std::nullptr_t) = delete;

  PST_Queue get() const noexcept { return handle_; }

  // Enqueues starts. Does not block, and never makes the stream wait. Stream order: a message holds
  // what earlier work of the stream wrote; a receive's buffer may be written from here on. An array
  // is enqueued whole or, after an error, not at all.
  void start(RequestView request) const {
    MPI_Request handle = request.get();
    detail::check(PST_Enqueue_start(handle_, &handle), "PST_Enqueue_start");
  }
  void start(std::span<MPI_Request> requests) const {
    detail::check(PST_Enqueue_startall(handle_, detail::to_count(requests.size()), requests.data()),
                  "PST_Enqueue_startall");
  }

  // Enqueues waits for requests started on this queue. The stream waits, the caller does not block.
  // Stream order: later work sees the received data and may overwrite the sent.
  void wait(RequestView request) const {
    MPI_Request handle = request.get();
    detail::check(PST_Enqueue_wait(handle_, &handle), "PST_Enqueue_wait");
  }
  void wait(std::span<MPI_Request> requests) const {
    detail::check(PST_Enqueue_waitall(handle_, detail::to_count(requests.size()), requests.data()),
                  "PST_Enqueue_waitall");
  }

  // Starts all and then waits for all. The stream waits, the caller does not block. Enqueued whole
  // or, after an error, not at all.
  void run(RequestView request) const {
    MPI_Request handle = request.get();
    detail::check(PST_Enqueue_run(handle_, &handle), "PST_Enqueue_run");
  }
  void run(std::span<MPI_Request> requests) const {
    detail::check(PST_Enqueue_runall(handle_, detail::to_count(requests.size()), requests.data()),
                  "PST_Enqueue_runall");
  }

  // A handle by which kernels on the queue's stream start a request and wait for it, in so many
  // leading blocks: see PST_Request_device. Does not block.
  PST_Device_request device_request(RequestView request, int wait_blocks) const {
    PST_Device_request handle;
    detail::check(PST_Request_device(handle_, request.get(), wait_blocks, &handle),
                  "PST_Request_device");
    return handle;
  }

  // A wait for everything that was started on the queue and has no wait yet. Does not block.
  void wait_outstanding() const {
    detail::check(PST_Enqueue_wait_outstanding(handle_), "PST_Enqueue_wait_outstanding");
  }

  // ---- Messages that MPI matches (docs/queue.md); they need MPI_THREAD_MULTIPLE.

  // Enqueues a send (receive) for the next trigger. Local, never waits; the stream is not touched.
  // The elements stay where they are until a wait behind the trigger has passed on the stream.
  // `comm`: MPI_COMM_NULL stands for the queue's own. `request`, where it is not null, gets an MPI
  // request to be completed by MPI's calls.
  template <Elements Range>
  void send(Range&& elements, int destination, int tag, MPI_Comm comm = MPI_COMM_NULL,
            MPI_Request* request = nullptr) const {
    const std::span data(elements);
    send(data.data(), detail::to_count(data.size()),
         datatype<typename decltype(data)::element_type>(), destination, tag, comm, request);
  }
  template <Elements Range>
  void receive(Range&& elements, int source, int tag, MPI_Comm comm = MPI_COMM_NULL,
               MPI_Request* request = nullptr) const {
    const std::span data(elements);
    receive(data.data(), detail::to_count(data.size()),
            datatype<typename decltype(data)::element_type>(), source, tag, comm, request);
  }
  // The same for `count` elements of a committed datatype, for what lies with gaps.
  void send(const void* buffer, int count, MPI_Datatype type, int destination, int tag,
            MPI_Comm comm = MPI_COMM_NULL, MPI_Request* request = nullptr) const {
    detail::check(PST_Enqueue_send(buffer, count, type, destination, tag, comm, handle_, request),
                  "PST_Enqueue_send");
  }
  void receive(void* buffer, int count, MPI_Datatype type, int source, int tag,
               MPI_Comm comm = MPI_COMM_NULL, MPI_Request* request = nullptr) const {
    detail::check(PST_Enqueue_recv(buffer, count, type, source, tag, comm, handle_, request),
                  "PST_Enqueue_recv");
  }
  // Enqueues the trigger of all of them. Stream order: they are handed to MPI when the stream gets
  // here, and the stream goes on; wait_outstanding() makes it wait. Does not block.
  void trigger() const { detail::check(PST_Enqueue_trigger(handle_), "PST_Enqueue_trigger"); }

  // Blocks the caller until all that was started on the queue is complete and the stream's earlier
  // work has ended.
  void synchronize() const { detail::check(PST_Queue_wait(handle_), "PST_Queue_wait"); }

  // True when synchronize() would return at once. Never blocks.
  bool is_complete() const {
    int flag = 0;
    detail::check(PST_Queue_test(handle_, &flag), "PST_Queue_test");
    return flag != 0;
  }

 protected:
  PST_Queue handle_;
};

// Owns a queue. The destructor completes everything started on it: it blocks, also while an
// exception passes through. Messages that are enqueued and not triggered are an error there:
// trigger them before.
class Queue : public QueueView {
 public:
  // A queue over a host stream; several queues may share one.
  explicit Queue(StreamView stream) : QueueView(PST_QUEUE_NULL) {
    PST_Stream handle = stream.get();
    detail::check(PST_Queue_init(&handle_, PST_QUEUE_HOST, &handle), "PST_Queue_init");
  }
  // The same, with the communicator of messages whose calls name none (QueueView::send).
  Queue(StreamView stream, MPI_Comm comm) : QueueView(PST_QUEUE_NULL) {
    detail::check(PST_Queue_create(comm, stream.get(), &handle_), "PST_Queue_create");
  }
  // A queue over a stream of another type; `stream` is the address of its handle and is read during
  // this call only.
  Queue(PST_Queue_type type, void* stream) : QueueView(PST_QUEUE_NULL) {
    detail::check(PST_Queue_init(&handle_, type, stream), "PST_Queue_init");
  }
  Queue(Queue&& other) noexcept : QueueView(std::exchange(other.handle_, PST_QUEUE_NULL)) {}
  Queue& operator=(Queue&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Queue() {
    if (handle_ != PST_QUEUE_NULL && detail::library_is_running()) PST_Queue_free(&handle_);
  }

  // Frees now and reports errors. Blocks as the destructor does.
  void free() { detail::check(PST_Queue_free(&handle_), "PST_Queue_free"); }

 protected:
  explicit Queue(PST_Queue made) noexcept : QueueView(made) {}  // it is this object's now
};

// ---- Memory ------------------------------------------------------------------------------------

// Owns an array that messages reach without an extra copy (PST_Alloc_mem). Declare buffers before
// the streams and queues that use them, and requests last: a queue's destructor completes what is
// enqueued, which needs the buffers.
template <class Element>
class Buffer {
  static_assert(std::is_trivially_copyable_v<Element>,
                "messages are bytes: the elements must be trivially copyable");

 public:
  // `size` elements, all value-initialised. Does not block.
  explicit Buffer(std::size_t size) : size_(size) {
    void* base = nullptr;
    detail::check(
        PST_Alloc_mem(static_cast<MPI_Aint>(size * sizeof(Element)), MPI_INFO_NULL, &base),
        "PST_Alloc_mem");
    data_ = static_cast<Element*>(base);
    std::uninitialized_value_construct_n(data_, size_);
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr && detail::library_is_running()) PST_Free_mem(data_);
  }

  Element* data() noexcept { return data_; }
  const Element* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  Element& operator[](std::size_t index) noexcept { return data_[index]; }
  const Element& operator[](std::size_t index) const noexcept { return data_[index]; }
  Element* begin() noexcept { return data_; }
  Element* end() noexcept { return data_ + size_; }
  std::span<Element> all() noexcept { return {data_, size_}; }
  std::span<const Element> all() const noexcept { return {data_, size_}; }

 private:
  Element* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace penstock

#endif
