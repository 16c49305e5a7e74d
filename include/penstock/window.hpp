// SPDX-License-Identifier: Apache-2.0
//
// Penstock's one-sided epochs in C++20: a window of elements, and owners of its epochs. The
// conventions are those of penstock.hpp; who blocks and what is ordered stands in penstock.h.
#pragma once

#if __cplusplus < 202002L
#error "penstock/window.hpp needs C++20: compile with -std=c++20"
#else  // nothing else, so that the error stands alone

#include <penstock/penstock.hpp>

#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace penstock {

// Some of a communicator's processes: the origins of an exposure, the targets of an access.
class Group {
 public:
  Group(MPI_Comm comm, std::span<const int> ranks) {
    MPI_Group all = MPI_GROUP_NULL;
    detail::check_mpi(MPI_Comm_group(comm, &all), "MPI_Comm_group");
    const int code = MPI_Group_incl(all, detail::to_count(ranks.size()), ranks.data(), &handle_);
    MPI_Group_free(&all);
    detail::check_mpi(code, "MPI_Group_incl");
  }
  Group(MPI_Comm comm, std::initializer_list<int> ranks)
      : Group(comm, std::span<const int>(ranks.begin(), ranks.size())) {}
  Group(Group&& other) noexcept : handle_(std::exchange(other.handle_, MPI_GROUP_NULL)) {}
  Group& operator=(Group&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Group() {
    if (handle_ != MPI_GROUP_NULL && handle_ != MPI_GROUP_EMPTY && detail::mpi_is_running())
      MPI_Group_free(&handle_);
  }
  MPI_Group get() const noexcept { return handle_; }

 private:
  MPI_Group handle_ = MPI_GROUP_NULL;
};

// An exposure epoch that is open. It is closed by wait(), on the queue of its post: an object that
// goes without that leaves it open, as no destructor may hold up a stream.
class ExposureEpoch {
 public:
  ExposureEpoch(MPI_Win window, QueueView queue) noexcept : window_(window), queue_(queue) {}
  // PST_Win_wait_stream.
  void wait() { detail::check(PST_Win_wait_stream(window_, queue_.get()), "PST_Win_wait_stream"); }

 private:
  MPI_Win window_;
  QueueView queue_;
};

// An access epoch that is open: operations on whole elements, listed until complete().
template <class Element>
class AccessEpoch {
 public:
  explicit AccessEpoch(MPI_Win window) noexcept : window_(window) {}

  // `displacement` counts the target's elements. The origin's elements are read when the stream
  // gets to complete().
  void put(std::span<const Element> elements, int target, MPI_Aint displacement) {
    const int bytes = detail::to_count(elements.size_bytes());
    detail::check(
        PST_Put(elements.data(), bytes, MPI_BYTE, target, displacement, bytes, MPI_BYTE, window_),
        "PST_Put");
  }
  void get(std::span<Element> elements, int target, MPI_Aint displacement) {
    const int bytes = detail::to_count(elements.size_bytes());
    detail::check(
        PST_Get(elements.data(), bytes, MPI_BYTE, target, displacement, bytes, MPI_BYTE, window_),
        "PST_Get");
  }
  void accumulate(std::span<const Element> elements, MPI_Op reduction, int target,
                  MPI_Aint displacement) {
    const int count = detail::to_count(elements.size());
    const MPI_Datatype type = datatype<Element>();
    detail::check(PST_Accumulate(elements.data(), count, type, target, displacement, count, type,
                                 reduction, window_),
                  "PST_Accumulate");
  }
  // PST_Win_complete_stream.
  void complete(QueueView queue) {
    detail::check(PST_Win_complete_stream(window_, queue.get()), "PST_Win_complete_stream");
  }

 private:
  MPI_Win window_;
};

// The calls of windows on the queue that may share a launch: those from here to end(), or to the
// destructor, which tells no error.
class Batch {
 public:
  explicit Batch(QueueView queue) : queue_(queue) {
    detail::check(PST_Queue_batch_begin(queue_.get()), "PST_Queue_batch_begin");
  }
  ~Batch() {
    if (open_) PST_Queue_batch_end(queue_.get());
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  // PST_Queue_batch_end.
  void end() {
    open_ = false;
    detail::check(PST_Queue_batch_end(queue_.get()), "PST_Queue_batch_end");
  }

 private:
  QueueView queue_;
  bool open_ = true;
};

// Each member's part has elements of one type, and displacements count them.
template <class Element>
class Window {
  static_assert(std::is_trivially_copyable_v<Element>, "windows move bytes");

 public:
  // PST_Win_allocate: collective over the communicator; blocks. The elements are zero.
  Window(MPI_Comm comm, std::size_t size) {
    detail::check(PST_Win_allocate(static_cast<MPI_Aint>(size * sizeof(Element)), sizeof(Element),
                                   MPI_INFO_NULL, comm, &data_, &handle_),
                  "PST_Win_allocate");
    size_ = size;
    for (Element& element : local()) element = Element{};
  }
  // PST_Win_create over memory of the caller's, which outlives the window.
  Window(MPI_Comm comm, std::span<Element> local) : data_(local.data()), size_(local.size()) {
    detail::check(PST_Win_create(data_, static_cast<MPI_Aint>(local.size_bytes()), sizeof(Element),
                                 MPI_INFO_NULL, comm, &handle_),
                  "PST_Win_create");
  }
  Window(Window&& other) noexcept
      : handle_(std::exchange(other.handle_, MPI_WIN_NULL)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Window& operator=(Window&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  // Collective; blocks. A window with an epoch open stays, and its memory with it, until the end of
  // the library.
  ~Window() {
    if (handle_ != MPI_WIN_NULL && detail::library_is_running()) PST_Win_free(&handle_);
  }
  void free() { detail::check(PST_Win_free(&handle_), "PST_Win_free"); }

  MPI_Win get() const noexcept { return handle_; }
  std::span<Element> local() const noexcept { return {data_, size_}; }

  // PST_Win_post_stream. `assertion`: 0 or MPI_MODE_NOCHECK.
  [[nodiscard]] ExposureEpoch post(const Group& origins, QueueView queue, int assertion = 0) {
    detail::check(PST_Win_post_stream(origins.get(), assertion, handle_, queue.get()),
                  "PST_Win_post_stream");
    return {handle_, queue};
  }
  // PST_Win_start.
  [[nodiscard]] AccessEpoch<Element> start(const Group& targets, int assertion = 0) {
    detail::check(PST_Win_start(targets.get(), assertion, handle_), "PST_Win_start");
    return AccessEpoch<Element>(handle_);
  }
  // PST_Win_start_stream: the stream's later work stores through remote(), until complete().
  [[nodiscard]] AccessEpoch<Element> start(const Group& targets, QueueView queue,
                                           int assertion = 0) {
    detail::check(PST_Win_start_stream(targets.get(), assertion, handle_, queue.get()),
                  "PST_Win_start_stream");
    return AccessEpoch<Element>(handle_);
  }
  // PST_Win_pointer: a member's elements, as this rank's streams load and store them.
  Element* remote(int rank) const {
    Element* elements = nullptr;
    detail::check(PST_Win_pointer(handle_, rank, &elements), "PST_Win_pointer");
    return elements;
  }

 private:
  MPI_Win handle_ = MPI_WIN_NULL;
  Element* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace penstock

#endif  // C++20
