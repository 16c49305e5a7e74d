// SPDX-License-Identifier: Apache-2.0
// penstock/cuda.hpp as a host compiler sees it, alone, and what of it needs no GPU.
#include <penstock/cuda.hpp>
// The header above stands first, so that it brings all that it needs.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <type_traits>

namespace penstock::cuda {
namespace {

static_assert(std::is_convertible_v<Buffer<int>&, View<int>>);
static_assert(std::is_convertible_v<Buffer<int>&, View<const int>>);
static_assert(!std::is_convertible_v<View<const int>, View<int>>);
static_assert(!std::is_convertible_v<View<int>, View<long>>);
static_assert(std::is_trivially_copyable_v<View<int>>);
static_assert(!std::is_copy_constructible_v<Buffer<int>>);
static_assert(std::is_nothrow_move_constructible_v<Buffer<int>>);
static_assert(std::is_nothrow_move_assignable_v<Stream>);
static_assert(std::is_move_constructible_v<Queue> && !std::is_copy_constructible_v<Queue>);
static_assert(!std::is_move_constructible_v<Capture>);
static_assert(std::is_constructible_v<Queue, Stream&> &&
              std::is_constructible_v<Queue, cudaStream_t>);
static_assert(!std::is_constructible_v<Queue, Stream>, "it would end before the queue");

template <class Memory>
constexpr bool can_send = requires(Memory&& memory) {
  send_init(std::forward<Memory>(memory), 0, 0, MPI_COMM_WORLD);
};
template <class Memory>
constexpr bool can_receive = requires(Memory&& memory) {
  recv_init(std::forward<Memory>(memory), 0, 0, MPI_COMM_WORLD);
};
static_assert(can_send<Buffer<int>&> && can_receive<Buffer<int>&>);
static_assert(can_send<View<int>> && can_receive<View<int>>);
static_assert(can_send<View<const int>>);
static_assert(!can_send<Buffer<int>> && !can_receive<Buffer<int>>, "it would end with the call");

template <class Memory>
constexpr bool has_parts = requires(Memory&& memory) {
  std::forward<Memory>(memory).part(0, 1);
  std::forward<Memory>(memory).bytes();
};
static_assert(has_parts<Buffer<int>&> && has_parts<View<int>>);
static_assert(!has_parts<Buffer<int>>, "they would be of memory that is freed at once");

struct Cell {
  float values[3];
};
static_assert(can_send<View<std::byte>> && can_send<View<const std::byte>>);

TEST(CudaHeader, ElementsWithoutAnMpiTypeTravelAsBytes) {
  std::array<Cell, 10> cells{};
  const View<const Cell> view(cells.data(), cells.size());
  const View<const std::byte> bytes = view.part(2, 3).bytes();
  EXPECT_EQ(bytes.data(), reinterpret_cast<const std::byte*>(&cells[2]));
  EXPECT_EQ(bytes.size(), 3 * sizeof(Cell));
}

TEST(CudaHeader, AViewHasPartsAndNoMore) {
  std::array<int, 10> elements{};
  const View<int> view(elements.data(), elements.size());
  const View<const int> part = view.part(3, 7);
  EXPECT_EQ(part.data(), elements.data() + 3);
  EXPECT_EQ(part.size(), 7u);
  EXPECT_EQ(part.part(7, 0).size(), 0u);
  EXPECT_THROW(view.part(3, 8), std::out_of_range);
  EXPECT_THROW(view.part(11, 0), std::out_of_range);
  EXPECT_THROW(view.part(1, std::numeric_limits<std::size_t>::max()), std::out_of_range);
}

TEST(CudaHeader, CopiesOfAnotherSizeAreRefused) {
  std::array<int, 10> elements{};
  const View<int> view(elements.data(), elements.size());
  EXPECT_THROW(view.copy_from(std::array<int, 9>{}, nullptr), std::length_error);
  std::array<int, 11> longer{};
  EXPECT_THROW(view.copy_to(longer, nullptr), std::length_error);
}

// Nothing is left in CUDA's record for later calls. Without a driver every call says that there is
// none, this one too.
void expect_no_error_left(bool has_device) {
  if (has_device) {
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
}

// More memory than there is, and a stream that cannot be captured: errors with a GPU and without.
TEST(CudaHeader, FailedCallsAreNamed) {
  const bool has_device = choose_device(0);
  const auto text_of = [&](auto call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_NE(error.code(), cudaSuccess);
      expect_no_error_left(has_device);
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(text_of([] { Buffer<char> buffer(std::size_t{1} << 60); }).find("cudaMalloc: cuda"),
            0u);
  EXPECT_EQ(text_of([] { Capture capture(nullptr); }).find("cudaStreamBeginCapture: cuda"), 0u);
}

TEST(CudaHeader, ChooseDeviceSaysWhetherThereIsOne) {
  int devices = 0;
  const bool has_device = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
  static_cast<void>(cudaGetLastError());
  EXPECT_EQ(choose_device(5), has_device);
  expect_no_error_left(has_device);
}

}  // namespace
}  // namespace penstock::cuda
