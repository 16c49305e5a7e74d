// SPDX-License-Identifier: Apache-2.0
//
// Penstock on CUDA streams in C++20: device memory with a type, requests from it, queues from a
// cudaStream_t, and graphs. Header-only, over penstock.hpp; it needs the headers and the library of
// the CUDA runtime (version 12 or later). It can be included by nvcc and by a host compiler.
//
//   penstock::cuda::Buffer<double> cells(1024);
//   penstock::cuda::Stream stream;
//   penstock::cuda::Queue queue(stream);
//   penstock::Requests requests;
//   requests.add(penstock::send_init(cells.part(0, 8), right, 0, MPI_COMM_WORLD));
//   requests.add(penstock::recv_init(cells.part(1016, 8), left, 0, MPI_COMM_WORLD));
//   penstock::match(requests);
//   step<<<blocks, threads, 0, stream>>>(cells);
//   queue.run(requests);
//
// Conventions:
//   1. Owners and views are as in penstock.hpp. A cudaStream_t is the view of a stream: every
//      function takes one, and the program's own streams serve as well as a Stream.
//   2. A call of CUDA that fails throws penstock::cuda::Error, a call of Penstock penstock::Error,
//      but MPI's usual error handler ends the job before that: see penstock::return_errors(). CUDA
//      may report by any call an error of work that was enqueued earlier. Destructors never throw.
//   3. Memory and streams belong to the device that is current when they are made. A queue, its
//      stream and the buffers of its requests belong to one device.
//   4. Threads: different objects may be used from different threads. Calls on one object must not
//      overlap; calls on a View may.
//   5. "Blocks" and "stream order" mean what penstock.h says; sizes and positions count elements.
//   6. With HIP there is no such header: penstock.hpp and PST_QUEUE_HIP serve hipStream_t.
// Source: the CUDA runtime, and what penstock.h names; the form is Penstock's.
#pragma once

#if __cplusplus < 202002L
#error "penstock/cuda.hpp needs C++20: compile with -std=c++20"
#else  // nothing else, so that the error stands alone

#include <cuda_runtime_api.h>

#include <cstddef>
#include <limits>
#include <penstock/penstock.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef __CUDACC__
#define PENSTOCK_HOST_DEVICE __host__ __device__
#else
#define PENSTOCK_HOST_DEVICE
#endif

namespace penstock::cuda {

// ---- Errors and devices ------------------------------------------------------------------------

// A call of CUDA that has failed; its text names the call, the error and what CUDA says of it.
class Error : public std::runtime_error {
 public:
  Error(cudaError_t code, const char* call)
      : std::runtime_error(std::string(call) + ": " + cudaGetErrorName(code) + ", " +
                           cudaGetErrorString(code)),
        code_(code) {}

  cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
};

// Throws where a call of CUDA has failed: check(cudaMalloc(...), "cudaMalloc"). The error is taken
// from CUDA's own record, so that a later cudaGetLastError does not tell it again. Does not block.
inline void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw Error(code, call);
}

// Makes a device the calling thread's current one: `number` modulo how many there are. Returns
// false where there is no device or no driver, and throws for any other error. May block while CUDA
// starts.
inline bool choose_device(int number) {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(code, "cudaGetDeviceCount");
  check(cudaSetDevice(number % devices), "cudaSetDevice");
  return true;
}

// The same with this process's number among those of `comm` on its host, so that they share out the
// host's devices. Collective over `comm`, between MPI_Init and MPI_Finalize; blocks as
// MPI_Comm_split_type does.
inline bool choose_device_on_host(MPI_Comm comm) {
  MPI_Comm host = MPI_COMM_NULL;
  int rank = 0;
  penstock::detail::check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
                          "MPI_Comm_split_type");
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return choose_device(rank);
}

// ---- Streams and queues ------------------------------------------------------------------------

// Owns a non-blocking stream (cudaStreamNonBlocking): it does not wait for the default stream, nor
// that for it. Free the queues over it first. The destructor does not block: CUDA ends the stream
// behind its work. A stream that was moved from is not to be used: its handle is null, which CUDA
// takes for the default stream.
class Stream {
 public:
  // Does not block.
  Stream() {
    check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  Stream(Stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Stream() {
    if (handle_ != nullptr) static_cast<void>(cudaStreamDestroy(handle_));
  }

  cudaStream_t get() const noexcept { return handle_; }
  operator cudaStream_t() const noexcept { return handle_; }

  // Blocks until everything enqueued before has ended. Failures of communication are told by
  // Queue::synchronize, which also moves MPI's own messages meanwhile.
  void synchronize() const { check(cudaStreamSynchronize(handle_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t handle_ = nullptr;
};

template <class Element>
class View;
template <class Element>
class Buffer;

// Owns a queue over a CUDA stream: start, wait, run, synchronize and the rest are those of
// penstock::QueueView. Only synchronize() blocks. All calls may be captured but synchronize(),
// is_complete(), and trigger(), as each enqueued message is one message. The stream must outlive
// the queue. The destructor blocks, as penstock::Queue's.
class Queue : public penstock::Queue {
 public:
  // Several queues may share a stream; a null handle is the default stream. Does not block. Errors:
  // those of PST_Queue_init; PST_ERROR_UNSUPPORTED says that libpenstock was built without CUDA, or
  // that there is no GPU here.
  explicit Queue(cudaStream_t stream) : penstock::Queue(PST_QUEUE_CUDA, &stream) {}
  // For messages that MPI matches (QueueView::send): `comm` is used by calls that name none.
  // Reserves the queue's pinned memory (PENSTOCK_QUEUE_STAGING), which may block until kernels have
  // ended: make the queue before anything is enqueued that waits. Errors: those of
  // PST_Queue_create.
  Queue(cudaStream_t stream, MPI_Comm comm) : penstock::Queue(make(stream, comm)) {}
  Queue(Stream&&) = delete;  // would be destroyed before the queue
  Queue(Stream&&, MPI_Comm) = delete;

  // QueueView::send and receive of views, and of buffers, which must outlive the message.
  using QueueView::receive;
  using QueueView::send;
  template <class Element>
  void send(View<Element> elements, int destination, int tag, MPI_Comm comm = MPI_COMM_NULL,
            MPI_Request* request = nullptr) const;
  template <class Element>
  void receive(View<Element> elements, int source, int tag, MPI_Comm comm = MPI_COMM_NULL,
               MPI_Request* request = nullptr) const;
  template <class Element>
  void send(const Buffer<Element>& elements, int destination, int tag,
            MPI_Comm comm = MPI_COMM_NULL, MPI_Request* request = nullptr) const;
  template <class Element>
  void receive(Buffer<Element>& elements, int source, int tag, MPI_Comm comm = MPI_COMM_NULL,
               MPI_Request* request = nullptr) const;
  template <class Element, class... Rest>
  void send(Buffer<Element>&&, Rest...) const = delete;
  template <class Element, class... Rest>
  void receive(Buffer<Element>&&, Rest...) const = delete;

 private:
  static PST_Queue make(cudaStream_t stream, MPI_Comm comm) {
    PST_Queue queue = PST_QUEUE_NULL;
    detail::check(PST_Queue_create(comm, stream, &queue), "PST_Queue_create");
    return queue;
  }
};

// ---- Memory ------------------------------------------------------------------------------------

// Elements that stand one behind the other in device memory that somebody else owns. Kernels take
// it by value and index it; the host can copy, and has no operator[].
template <class Element>
class View {
  static_assert(std::is_trivially_copyable_v<Element>,
                "messages are bytes: the elements must be trivially copyable");

 public:
  using element_type = Element;
  using value_type = std::remove_cv_t<Element>;

  // An empty view, or one of `size` elements at `data`: from cudaMalloc, another library, a tensor.
  PENSTOCK_HOST_DEVICE View() noexcept {}
  PENSTOCK_HOST_DEVICE View(Element* data, std::size_t size) noexcept : data_(data), size_(size) {}
  // What may be written may also be only read: View<T> becomes View<const T>.
  template <class Other,
            class = std::enable_if_t<std::is_convertible_v<Other (*)[], Element (*)[]>>>
  PENSTOCK_HOST_DEVICE View(View<Other> other) noexcept
      : data_(other.data()), size_(other.size()) {}

  PENSTOCK_HOST_DEVICE Element* data() const noexcept { return data_; }
  PENSTOCK_HOST_DEVICE std::size_t size() const noexcept { return size_; }
#ifdef __CUDACC__
  __device__ Element& operator[](std::size_t index) const noexcept {
    return data_[index];
  }
#endif

  // `size` elements from the element `first` on; for the host alone. Error: std::out_of_range. Does
  // not block.
  View part(std::size_t first, std::size_t size) const {
    if (first > size_ || size > size_ - first) {
      throw std::out_of_range("penstock: elements " + std::to_string(first) + " to " +
                              std::to_string(first + size) + " of a view of " +
                              std::to_string(size_));
    }
    return {data_ + first, size};
  }

  // The same memory as bytes, for messages of elements that MPI has no type for, such as __half,
  // float4 or a struct: send_init(cells.bytes(), ...).
  using Byte = std::conditional_t<std::is_const_v<Element>, const std::byte, std::byte>;
  View<Byte> bytes() const noexcept {
    return {reinterpret_cast<Byte*>(data_), size_ * sizeof(Element)};
  }

  // Enqueues a copy from, or to, as many elements of the host. Stream order: after all earlier
  // work, before all later work. With pinned memory the call does not block, and the elements must
  // stay until the copy has been made. With other memory it blocks until CUDA has read or written
  // the elements, and CUDA may read them before the stream's earlier work has ended. Error:
  // std::length_error for another number of elements.
  void copy_from(std::span<const value_type> from, cudaStream_t stream) const {
    static_assert(!std::is_const_v<Element>, "these elements can only be read");
    check_size(from.size());
    copy(data_, from.data(), cudaMemcpyHostToDevice, stream);
  }
  void copy_to(std::span<value_type> to, cudaStream_t stream) const {
    check_size(to.size());
    copy(to.data(), data_, cudaMemcpyDeviceToHost, stream);
  }

  // The elements as earlier work of the stream leaves them. Blocks until that work has ended. Where
  // messages are awaited Queue::synchronize comes first, as it tells whether they have failed.
  std::vector<value_type> to_host(cudaStream_t stream) const {
    static_assert(!std::is_same_v<value_type, bool>,
                  "std::vector<bool> is no array: use copy_to with an array of bool");
    std::vector<value_type> elements(size_);
    copy_to(elements, stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return elements;
  }

 protected:
  Element* data_ = nullptr;
  std::size_t size_ = 0;

 private:
  void check_size(std::size_t size) const {
    if (size != size_) {
      throw std::length_error("penstock: a copy of " + std::to_string(size) + " elements with " +
                              std::to_string(size_) + " on the device");
    }
  }
  void copy(void* to, const void* from, cudaMemcpyKind kind, cudaStream_t stream) const {
    check(cudaMemcpyAsync(to, from, size_ * sizeof(Element), kind, stream), "cudaMemcpyAsync");
  }
};

// Owns device memory, all bytes 0 at first. Declare buffers before the streams and queues that use
// them, and requests last, as in penstock.hpp.
template <class Element>
class Buffer : public View<Element> {
  static_assert(!std::is_const_v<Element>, "the elements of a buffer are written");

 public:
  // Allocates by cudaMalloc: messages between GPUs reach such memory without a copy more. Blocks
  // until it is there; like cudaMalloc it may be held up by kernels of this process that wait for a
  // message. The destructor frees by cudaFree, which blocks until the device's enqueued work has
  // ended. Both are what another thread's capture in CUDA's global mode forbids. Error:
  // std::length_error for more elements than memory can hold.
  explicit Buffer(std::size_t size) {
    if (size == 0) return;
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes_of(size)), "cudaMalloc");
    adopt(memory, size, cudaStreamPerThread);
    keep_if(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
  }
  // By cudaMallocAsync, for what is made and dropped between kernels: in stream order, and neither
  // this nor the destructor blocks. The stream must outlive the buffer. A message takes a copy more
  // from and to such memory.
  Buffer(std::size_t size, cudaStream_t stream) : stream_(stream), is_ordered_(true) {
    if (size == 0) return;
    void* memory = nullptr;
    check(cudaMallocAsync(&memory, bytes_of(size), stream), "cudaMallocAsync");
    adopt(memory, size, stream);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() { free(); }

  // Not of a temporary, whose memory is freed at once.
  View<Element> part(std::size_t first, std::size_t size) const& {
    return View<Element>::part(first, size);
  }
  View<Element> part(std::size_t first, std::size_t size) const&& = delete;
  View<std::byte> bytes() const& noexcept { return View<Element>::bytes(); }
  View<std::byte> bytes() const&& = delete;

 private:
  static std::size_t bytes_of(std::size_t size) {
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(Element)) {
      throw std::length_error("penstock: a buffer of " + std::to_string(size) + " elements of " +
                              std::to_string(sizeof(Element)) + " bytes");
    }
    return size * sizeof(Element);
  }
  void adopt(void* memory, std::size_t size, cudaStream_t stream) {
    this->data_ = static_cast<Element*>(memory);
    this->size_ = size;
    keep_if(cudaMemsetAsync(memory, 0, bytes_of(size), stream), "cudaMemsetAsync");
  }
  // Constructors call it: no destructor runs for what is not constructed.
  void keep_if(cudaError_t code, const char* call) {
    if (code != cudaSuccess) free();
    check(code, call);
  }
  void free() noexcept {
    if (this->data_ == nullptr) return;
    static_cast<void>(is_ordered_ ? cudaFreeAsync(this->data_, stream_) : cudaFree(this->data_));
  }
  void swap(Buffer& other) noexcept {
    std::swap(this->data_, other.data_);
    std::swap(this->size_, other.size_);
    std::swap(stream_, other.stream_);
    std::swap(is_ordered_, other.is_ordered_);
  }

  cudaStream_t stream_ = nullptr;
  bool is_ordered_ = false;
};

// ---- Graphs ------------------------------------------------------------------------------------

// Owns a graph that can be launched any number of times. The program orders its launches and other
// uses of the same requests; both ends of a pair run equally often. It must not be launched after a
// queue or a request in it has been freed. The destructor does not block.
class Graph {
 public:
  // Instantiates `graph`, which stays the caller's. May block while CUDA prepares it.
  explicit Graph(cudaGraph_t graph) {
    check(cudaGraphInstantiate(&handle_, graph, 0), "cudaGraphInstantiate");
  }
  Graph(Graph&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Graph() {
    if (handle_ != nullptr) static_cast<void>(cudaGraphExecDestroy(handle_));
  }

  cudaGraphExec_t get() const noexcept { return handle_; }

  // Enqueues one run of all that was captured. Does not block. Stream order: after all earlier
  // work, before all later work.
  void launch(cudaStream_t stream) const {
    check(cudaGraphLaunch(handle_, stream), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t handle_ = nullptr;
};

// Captures what is enqueued on a stream, and on others that events join to it: kernels, copies, and
// what is enqueued on queues over it. Nothing of it runs before the graph is launched. Every start
// needs its wait in the same capture, and PST_Queue_wait and PST_Queue_free are errors meanwhile.
class Capture {
 public:
  // Begins. Calls that a capture forbids, such as cudaMalloc, fail in this thread meanwhile, and
  // only there. Does not block.
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  // A capture without end(), as after an exception, is dropped.
  ~Capture() {
    if (is_open_) static_cast<void>(close());
    if (graph_ != nullptr) static_cast<void>(cudaGraphDestroy(graph_));
  }

  // Ends the capture, once, and makes a graph of it. Blocks as Graph's constructor does.
  Graph end() {
    check(close(), "cudaStreamEndCapture");
    return Graph(graph_);
  }

 private:
  cudaError_t close() noexcept {
    is_open_ = false;
    return cudaStreamEndCapture(stream_, &graph_);
  }

  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  bool is_open_ = true;
};

}  // namespace penstock::cuda

namespace penstock {

// ---- Requests ----------------------------------------------------------------------------------

namespace cuda {

template <class Element>
void Queue::send(View<Element> elements, int destination, int tag, MPI_Comm comm,
                 MPI_Request* request) const {
  send(std::span(elements.data(), elements.size()), destination, tag, comm, request);
}
template <class Element>
void Queue::receive(View<Element> elements, int source, int tag, MPI_Comm comm,
                    MPI_Request* request) const {
  static_assert(!std::is_const_v<Element>, "a receive writes its elements");
  receive(std::span(elements.data(), elements.size()), source, tag, comm, request);
}
template <class Element>
void Queue::send(const Buffer<Element>& elements, int destination, int tag, MPI_Comm comm,
                 MPI_Request* request) const {
  send(std::span(elements.data(), elements.size()), destination, tag, comm, request);
}
template <class Element>
void Queue::receive(Buffer<Element>& elements, int source, int tag, MPI_Comm comm,
                    MPI_Request* request) const {
  receive(std::span(elements.data(), elements.size()), source, tag, comm, request);
}

}  // namespace cuda

// A persistent send of a view or a buffer, or receive into it. The memory must outlive the request,
// as with elements of the host. Does not block; MPI's errors are thrown.
template <class Element>
Request send_init(cuda::View<Element> elements, int destination, int tag, MPI_Comm comm,
                  Mode mode = Mode::standard) {
  return send_init(std::span(elements.data(), elements.size()), destination, tag, comm, mode);
}
template <class Element>
Request recv_init(cuda::View<Element> elements, int source, int tag, MPI_Comm comm) {
  static_assert(!std::is_const_v<Element>, "a receive writes its elements");
  return recv_init(std::span(elements.data(), elements.size()), source, tag, comm);
}
// A send from a buffer that ends with the call is refused.
template <class Element, class... Rest>
Request send_init(cuda::Buffer<Element>&&, Rest...) = delete;
template <class Element, class... Rest>
Request recv_init(cuda::Buffer<Element>&&, Rest...) = delete;

}  // namespace penstock

#undef PENSTOCK_HOST_DEVICE
#endif
