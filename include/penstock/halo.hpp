// SPDX-License-Identifier: Apache-2.0
//
// Penstock's halo exchange: the ghost cells of block-decomposed 2D and 3D grids, filled in the
// order of a stream.
//
//   penstock::halo::Grid<2> grid(MPI_COMM_WORLD, {ny, nx}, {true, true});
//   const auto block = grid.block();
//   auto heat = penstock::halo::row_major<2>(cells, {block[0] + 2, block[1] + 2});
//   penstock::halo::Halo<2> halo(stream, grid, {.width = 1}, heat);
//   for (...) { halo.enqueue_gather(heat); stream.launch(step); }
//
// Conventions:
//   1. Dimensions are counted from 0. A rank's number in the grid's communicator counts the rank
//      grid with the last dimension fastest.
//   2. An array covers the rank's block and `width` ghost cells on each side of it: in dimension d
//      it has block[d] + 2 * width cells, of which the first `width` and the last `width` are
//      ghosts. With rank N an array has one component a cell; with rank N + 1 the last index counts
//      components. Extents count cells and components, strides count elements.
//   3. Calls that fail throw penstock::Error, of the kind PST_ERROR_ARGUMENT where the program has
//      asked for what cannot be. What constructors refuse they refuse on all ranks alike, before
//      anything is exchanged, also when the cause is on one of them.
//   4. "Collective": all ranks of the grid's communicator make the call, in the same order with
//      respect to other collective calls there. Exchanges count among these: all ranks enqueue the
//      same gathers and scatters in the same order, each rank in the order of its own stream.
//   5. "Blocks" and "stream order" mean what penstock.h says. Calls on one object must not overlap.
// Source: the halo class of "CPU-free two-sided MPI GPU communication", section IV; the rest is
// Penstock's.
//
// Link with penstock::halo (libpenstock_halo).
#pragma once

#if __cplusplus < 202002L
#error "penstock/halo.hpp needs C++20: compile with -std=c++20"
#else  // nothing else, so that the error stands alone

#include <penstock/penstock.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <penstock/halo_kinds.hpp>
#include <penstock/penstock.hpp>
#include <string>
#include <type_traits>
#include <vector>

namespace penstock::halo {

// ---- Arrays ------------------------------------------------------------------------------------

template <std::size_t N>
using Index = std::array<std::ptrdiff_t, N>;

// A view of an array in memory that owns nothing, with any strides: std::mdspan with layout_stride,
// as far as it is needed here. Halo takes std::mdspan itself as well, where there is one.
template <class Element, std::size_t Rank>
class View {
 public:
  using element_type = Element;
  using value_type = std::remove_cv_t<Element>;

  View(Element* data, Index<Rank> extents, Index<Rank> strides) noexcept
      : data_(data), extents_(extents), strides_(strides) {}

  static constexpr std::size_t rank() noexcept { return Rank; }
  std::ptrdiff_t extent(std::size_t dimension) const noexcept { return extents_[dimension]; }
  std::ptrdiff_t stride(std::size_t dimension) const noexcept { return strides_[dimension]; }
  Element* data_handle() const noexcept { return data_; }

  // The element at these indices.
  template <std::convertible_to<std::ptrdiff_t>... Indices>
  Element& operator()(Indices... indices) const noexcept {
    static_assert(sizeof...(Indices) == Rank, "one index a dimension");
    return (*this)[Index<Rank>{static_cast<std::ptrdiff_t>(indices)...}];
  }
  Element& operator[](const Index<Rank>& index) const noexcept {
    std::ptrdiff_t offset = 0;
    for (std::size_t d = 0; d < Rank; ++d) offset += index[d] * strides_[d];
    return data_[offset];
  }

 private:
  Element* data_;
  Index<Rank> extents_;
  Index<Rank> strides_;
};

// Dense arrays: the last index is the fastest, as in C, or the first, as in Fortran.
template <std::size_t Rank, class Element>
View<Element, Rank> row_major(Element* data, Index<Rank> extents) noexcept {
  Index<Rank> strides{};
  std::ptrdiff_t stride = 1;
  for (std::size_t d = Rank; d-- > 0; stride *= extents[d]) strides[d] = stride;
  return {data, extents, strides};
}
template <std::size_t Rank, class Element>
View<Element, Rank> column_major(Element* data, Index<Rank> extents) noexcept {
  Index<Rank> strides{};
  std::ptrdiff_t stride = 1;
  for (std::size_t d = 0; d < Rank; stride *= extents[d++]) strides[d] = stride;
  return {data, extents, strides};
}

// What a halo on an N-dimensional grid takes: a view with N dimensions, or N and components.
template <class V, std::size_t N>
concept ArrayView = requires(const V& view, std::size_t d) {
  typename V::element_type;
  { view.data_handle() } -> std::convertible_to<typename V::element_type*>;
  { view.extent(d) } -> std::convertible_to<std::ptrdiff_t>;
  { view.stride(d) } -> std::convertible_to<std::ptrdiff_t>;
}
&&(V::rank() == N || V::rank() == N + 1);

// ---- What scatter does with what arrives -------------------------------------------------------

// Tags for enqueue_scatter. A cell that several neighbours have contributions for takes them in the
// order of the neighbours' offsets, (-1, -1) first, so that the result is the same bit for bit in
// every run. Signed integers wrap around.
struct Replace {  // the last neighbour's
  static constexpr Reduction value = Reduction::replace;
};
struct Sum {
  static constexpr Reduction value = Reduction::sum;
};
struct Min {
  static constexpr Reduction value = Reduction::min;
};
struct Max {
  static constexpr Reduction value = Reduction::max;
};

// ---- Options -----------------------------------------------------------------------------------

// Which neighbours take part: all that touch a block (8 in 2D, 26 in 3D), or those that share a
// face with it (4, 6).
enum class Pattern : std::uint8_t { node, face };

// How messages are sent. Ready sends skip the question whether the receiver is ready: each exchange
// starts the receives of the next one into a second set of buffers before it sends, so whoever has
// my message knows that its next one is expected. Such a halo cannot be captured into a graph,
// whose launches begin and end without open receives; and its destructor is collective, since it
// completes the receives that are open by then.
enum class Sends : std::uint8_t { standard, ready };

struct Options {
  int width = 1;  // ghost cells on each side; 0 exchanges nothing
  Pattern pattern = Pattern::node;
  Sends sends = Sends::standard;
  bool staged = false;  // MpiHalo: messages lie in pinned memory of the host, also where MPI takes
                        // the device's
};

// How a halo driven by the host waits: for all messages, or for any, again and again.
enum class Waits : std::uint8_t { all, any };

// ---- Inside ------------------------------------------------------------------------------------

namespace detail {

template <class T>
constexpr Scalar scalar_of() {
  if constexpr (std::is_same_v<T, float>) return Scalar::f32;
  if constexpr (std::is_same_v<T, double>) return Scalar::f64;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8) {
    constexpr int exponent = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<Scalar>((std::is_signed_v<T> ? 1 : 5) + exponent);
  }
  return Scalar::bytes;
}

// An array with its type forgotten. Unused dimensions have extent 1 and stride 0; the last one
// counts components.
struct Array {
  void* data = nullptr;
  Scalar scalar = Scalar::bytes;
  std::uint32_t element_bytes = 1;
  std::uint32_t alignment = 1;
  std::array<std::ptrdiff_t, max_dimensions + 1> extents{1, 1, 1, 1};
  std::array<std::ptrdiff_t, max_dimensions + 1> strides{};  // in elements
};

template <std::size_t N, ArrayView<N> V>
Array erase(const V& view) {
  using Element = typename V::element_type;
  static_assert(std::is_trivially_copyable_v<Element>,
                "messages are bytes: the elements must be trivially copyable");
  static_assert(!std::is_const_v<Element>, "an exchange writes into the array");
  Array array;
  array.data = view.data_handle();
  array.scalar = scalar_of<Element>();
  array.element_bytes = sizeof(Element);
  array.alignment = alignof(Element);
  for (std::size_t d = 0; d < N; ++d) {
    array.extents[d] = static_cast<std::ptrdiff_t>(view.extent(d));
    array.strides[d] = static_cast<std::ptrdiff_t>(view.stride(d));
  }
  if constexpr (V::rank() == N + 1) {
    array.extents[max_dimensions] = static_cast<std::ptrdiff_t>(view.extent(N));
    array.strides[max_dimensions] = static_cast<std::ptrdiff_t>(view.stride(N));
  }
  return array;
}

template <std::size_t N, class... Views>
std::array<Array, sizeof...(Views)> erase_all(const Views&... views) {
  return {erase<N>(views)...};
}

// A grid with the number of its dimensions forgotten. Copies share the communicator.
class PST_API GridShape {
 public:
  GridShape(MPI_Comm comm, std::vector<std::vector<std::ptrdiff_t>> blocks,
            std::vector<bool> periodic);
  GridShape(MPI_Comm comm, const std::vector<std::ptrdiff_t>& cells, std::vector<bool> periodic,
            const std::vector<std::ptrdiff_t>& ranks);

  MPI_Comm comm() const noexcept;
  std::size_t dimensions() const noexcept { return blocks_.size(); }
  int rank() const noexcept { return rank_; }
  std::ptrdiff_t ranks(std::size_t d) const noexcept {
    return static_cast<std::ptrdiff_t>(blocks_[d].size());
  }
  std::ptrdiff_t coordinate(std::size_t d, int rank) const noexcept;
  std::ptrdiff_t cells(std::size_t d) const noexcept;
  std::ptrdiff_t first(std::size_t d, int rank) const noexcept;
  std::ptrdiff_t block(std::size_t d, int rank) const noexcept;
  std::ptrdiff_t smallest_block(std::size_t d) const noexcept;
  int neighbour(const std::ptrdiff_t* offset, int rank) const noexcept;

 private:
  std::shared_ptr<const MPI_Comm> comm_;
  int rank_ = 0;
  std::vector<std::vector<std::ptrdiff_t>> blocks_;
  std::vector<bool> periodic_;
};

enum class Direction : std::uint8_t { gather, scatter };

class StreamHalo;  // the exchange on a stream
class HostHalo;    // the exchange driven by the host
struct Deleter {
  PST_API void operator()(StreamHalo* halo) const noexcept;
  PST_API void operator()(HostHalo* halo) const noexcept;
};

PST_API std::unique_ptr<StreamHalo, Deleter> make_stream_halo(PST_Queue_type type, void* stream,
                                                              const GridShape& grid,
                                                              const Options& options,
                                                              std::span<const Array> arrays);
PST_API void enqueue(StreamHalo& halo, Direction direction, Reduction reduction,
                     std::span<const Array> arrays);
PST_API void synchronize(StreamHalo& halo);
PST_API std::string transport(const StreamHalo& halo);

PST_API std::unique_ptr<HostHalo, Deleter> make_host_halo(PST_Queue_type type, void* stream,
                                                          const GridShape& grid,
                                                          const Options& options, Waits waits,
                                                          std::span<const Array> arrays);
PST_API void exchange(HostHalo& halo, Direction direction, Reduction reduction,
                      std::span<const Array> arrays);
PST_API std::string memory(const HostHalo& halo);

template <class Op, class... Views>
constexpr void check_reducible() {
  static_assert(Op::value == Reduction::replace ||
                    ((scalar_of<typename Views::element_type>() != Scalar::bytes) && ...),
                "Sum, Min and Max need integers of up to 64 bits, float or double");
}

}  // namespace detail

// ---- Grids -------------------------------------------------------------------------------------

// A grid of cells cut into blocks, one a rank: block (i, j) has the rows of cut i and the columns
// of cut j. Copies share one duplicate of the communicator, and each Halo and MpiHalo holds a copy.
// The end of the last of them is collective, since it calls MPI_Comm_free: it comes on all ranks,
// in the same order with respect to other collective calls, or MPI may block those where it comes.
// It comes before MPI_Finalize: what ends later, such as a global object, frees nothing.
template <std::size_t N>
requires(N == 2 || N == 3) class Grid {
 public:
  // Cuts `cells` into blocks that differ by at most one cell in each dimension. `ranks` is the rank
  // grid; where it is zero the library chooses the numbers whose blocks have the least surface, the
  // larger of them along the longer sides. The communicator is duplicated. Collective over `comm`;
  // blocks. Errors: PST_ERROR_ARGUMENT (a rank would have no cell, `ranks` does not fit the
  // communicator, the ranks disagree), MPI's.
  Grid(MPI_Comm comm, Index<N> cells, std::array<bool, N> periodic, Index<N> ranks = {})
      : shape_(comm, list(cells), std::vector<bool>(periodic.begin(), periodic.end()),
               list(ranks)) {}

  // The same with given blocks: cuts[d] holds the cells of each block along dimension d.
  Grid(MPI_Comm comm, const std::array<std::vector<std::ptrdiff_t>, N>& cuts,
       std::array<bool, N> periodic)
      : shape_(comm, std::vector<std::vector<std::ptrdiff_t>>(cuts.begin(), cuts.end()),
               std::vector<bool>(periodic.begin(), periodic.end())) {}

  // The library's own duplicate of the communicator, as long as this grid, a copy or a halo of it
  // lives.
  MPI_Comm comm() const noexcept { return shape_.comm(); }
  int rank() const noexcept { return shape_.rank(); }
  Index<N> cells() const noexcept {
    return collect([&](std::size_t d) { return shape_.cells(d); });
  }
  Index<N> ranks() const noexcept {
    return collect([&](std::size_t d) { return shape_.ranks(d); });
  }
  // Of this rank, or of another: where it lies in the rank grid, its first cell, its cells.
  Index<N> coordinates() const noexcept { return coordinates(rank()); }
  Index<N> coordinates(int rank) const noexcept {
    return collect([&](std::size_t d) { return shape_.coordinate(d, rank); });
  }
  Index<N> first() const noexcept { return first(rank()); }
  Index<N> first(int rank) const noexcept {
    return collect([&](std::size_t d) { return shape_.first(d, rank); });
  }
  Index<N> block() const noexcept { return block(rank()); }
  Index<N> block(int rank) const noexcept {
    return collect([&](std::size_t d) { return shape_.block(d, rank); });
  }
  // The rank at this offset in the rank grid, MPI_PROC_NULL beyond an edge that is not periodic.
  int neighbour(Index<N> offset) const noexcept { return shape_.neighbour(offset.data(), rank()); }

  const detail::GridShape& shape() const noexcept { return shape_; }

 private:
  static std::vector<std::ptrdiff_t> list(const Index<N>& values) {
    return {values.begin(), values.end()};
  }
  template <class Get>
  static Index<N> collect(Get get) noexcept {
    Index<N> values{};
    for (std::size_t d = 0; d < N; ++d) values[d] = get(d);
    return values;
  }

  detail::GridShape shape_;
};

// ---- The exchange on a stream ------------------------------------------------------------------

// Persistent requests, message buffers and packing for the arrays of one grid. Owns them; the
// stream is the program's and must outlive it.
template <std::size_t N>
class Halo {
 public:
  // `views` give the arrays' shapes and types; their addresses are not kept. On all ranks the
  // arrays are the same in number, order, type, components and order of strides. Matches all
  // requests: collective, blocks until all ranks are here, with ready sends until all their streams
  // have come so far. Errors: PST_ERROR_ARGUMENT (a block narrower than the halo, an array of
  // another shape than block and halo ask for, elements that overlap, more than 16 arrays, a
  // message of more than 16 GiB, ranks that disagree), and those of PST_Queue_init and
  // PST_Matchall.
  template <ArrayView<N>... Views>
  Halo(StreamView stream, const Grid<N>& grid, const Options& options, const Views&... views)
      : Halo(PST_QUEUE_HOST, std::array{stream.get()}.data(), grid, options, views...) {}
  // On a stream of another type; `stream` is the address of its handle, the arrays are in memory of
  // its device. No call minds or changes which device is the current one, except that a default
  // stream is that of the constructor's.
  template <ArrayView<N>... Views>
  Halo(PST_Queue_type type, void* stream, const Grid<N>& grid, const Options& options,
       const Views&... views)
      : halo_(detail::make_stream_halo(type, stream, grid.shape(), options,
                                       detail::erase_all<N>(views...))) {}
  // The destructor blocks until all exchanges have ended; with ready sends it is collective, and so
  // it is where it ends the last copy of the grid. Captured exchanges must not be launched
  // afterwards.

  // Enqueues an exchange that fills the ghost cells with the neighbours' cells; ghosts beyond an
  // edge that is not periodic, and with Pattern::face those at corners, stay as they are. `views`
  // have the shapes, types and order that the constructor was given, and may lie elsewhere. Does
  // not block. Stream order: after all earlier work, before all later work; the arrays must stay
  // until then. On CUDA streams it can be captured into a graph. Errors: PST_ERROR_ARGUMENT
  // (another number, shape or type of arrays), with nothing enqueued; those of PST_Enqueue_start
  // and PST_Enqueue_wait, after which the halo is of no more use.
  template <ArrayView<N>... Views>
  void enqueue_gather(const Views&... views) {
    detail::enqueue(*halo_, detail::Direction::gather, Reduction::replace,
                    detail::erase_all<N>(views...));
  }

  // Enqueues the opposite: each rank's ghost cells are brought to the ranks that own these cells,
  // and there put in their place (Replace) or combined with what the cell holds (Sum, Min, Max).
  // The ghost cells stay as they are. Otherwise as enqueue_gather.
  template <class Op, ArrayView<N>... Views>
  void enqueue_scatter(Op, const Views&... views) {
    detail::check_reducible<Op, Views...>();
    detail::enqueue(*halo_, detail::Direction::scatter, Op::value, detail::erase_all<N>(views...));
  }

  // Blocks until the stream's earlier work has ended, and throws the communication's error if it
  // has failed. Of the library's calls only the constructor, the destructor and this one block.
  void synchronize() { detail::synchronize(*halo_); }

  // The name of the transport that carries the messages, "none" where there are none.
  std::string transport() const { return detail::transport(*halo_); }

 private:
  std::unique_ptr<detail::StreamHalo, detail::Deleter> halo_;
};

// ---- The exchange driven by the host -----------------------------------------------------------

// The same exchange by MPI's own persistent requests, for programs that look at every step on the
// host, and to compare with: same packing. On host memory the calling thread does all of it. On a
// device one kernel packs, the host waits for the stream and for MPI, and unpacking is enqueued: in
// one kernel when all messages are here, or with Waits::any message by message as they come, in
// gathers. MPI is given the device's memory where it says that it takes it, and else pinned memory
// of the host, which the kernels write and read.
template <std::size_t N>
class MpiHalo {
 public:
  // Collective, blocks. Errors: as Halo.
  template <ArrayView<N>... Views>
  MpiHalo(const Grid<N>& grid, const Options& options, Waits waits, const Views&... views)
      : MpiHalo(PST_QUEUE_HOST, nullptr, grid, options, waits, views...) {}
  template <ArrayView<N>... Views>
  MpiHalo(PST_Queue_type type, void* stream, const Grid<N>& grid, const Options& options,
          Waits waits, const Views&... views)
      : halo_(detail::make_host_halo(type, stream, grid.shape(), options, waits,
                                     detail::erase_all<N>(views...))) {}

  // Both block until the messages have arrived. Later work of the stream, if there is one, sees the
  // cells.
  template <ArrayView<N>... Views>
  void gather(const Views&... views) {
    detail::exchange(*halo_, detail::Direction::gather, Reduction::replace,
                     detail::erase_all<N>(views...));
  }
  template <class Op, ArrayView<N>... Views>
  void scatter(Op, const Views&... views) {
    detail::check_reducible<Op, Views...>();
    detail::exchange(*halo_, detail::Direction::scatter, Op::value, detail::erase_all<N>(views...));
  }

  // What MPI is given: "host memory", "device memory" or "pinned memory".
  std::string memory() const { return detail::memory(*halo_); }

 private:
  std::unique_ptr<detail::HostHalo, detail::Deleter> halo_;
};

}  // namespace penstock::halo

#endif
