// SPDX-License-Identifier: Apache-2.0
// What support/endpoint.hpp needs of a device, in two forms: streams, memory, and what the ends of
// a sequence do to their buffers in the order of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "penstock/penstock.h"

#if PENSTOCK_TEST_CUDA
#include "support/cuda/device.hpp"
#else
#include "support/host/device.hpp"
#endif

namespace penstock::test {

// Stream and queue_type are the device's.
Stream make_stream();
void free_stream(Stream stream);
// Stream order. A function of Sender or Receiver enqueues its kernels where the device is a GPU.
void launch(Stream stream, void (*function)(void*), void* argument);
void synchronize(Stream stream);
// A function for the stream that takes a while: up to 2 * microseconds, 0 for a few instructions.
void enqueue_delay(Stream stream, std::uintptr_t microseconds);

// Kinds of memory that transports serve differently; only with a GPU is there more than one of the
// host's.
enum class Memory { ordinary, allocated, pinned };
const char* name(Memory memory);
// What several processes can address, and what they cannot.
#if PENSTOCK_TEST_CUDA
inline constexpr Memory shareable = Memory::ordinary, unshareable = Memory::allocated;
#else
inline constexpr Memory shareable = Memory::allocated, unshareable = Memory::ordinary;
#endif
int device_of(int rank);  // whose streams and memory a rank of the job has, of several devices
std::byte* allocate(Memory memory, std::size_t bytes, std::byte value);
void free(Memory memory, std::byte* address);
// Memory of the host's of as many bytes, through which it fills and checks `data`: `data` itself
// where the device is the host.
std::byte* make_mirror(std::byte* data, std::size_t bytes);
void free_mirror(std::byte* mirror, std::byte* data);
// Between data and its mirror, in stream order.
void enqueue_copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes);
// Between memory of any kinds, in stream order; it must be kept until the stream has passed it.
struct Transfer {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};
void enqueue_transfer(Stream stream, Transfer& transfer);
// Between memory of any kinds, done when it returns. No stream may use it meanwhile.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes);

enum class Kind { standard, synchronous, ready, buffered };
inline const std::vector<Kind> plain_kinds{Kind::standard, Kind::synchronous};
bool served(Kind kind);  // whether the device's own transport sends so

}  // namespace penstock::test
