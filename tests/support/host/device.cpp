// SPDX-License-Identifier: Apache-2.0
#include "support/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "support/environment.hpp"
#include "support/pattern.hpp"

namespace penstock::test {

Stream make_stream() {
  Stream stream = PST_STREAM_NULL;
  EXPECT_PST(PST_Stream_create(&stream));
  return stream;
}

void free_stream(Stream stream) {
  EXPECT_PST(PST_Stream_free(&stream));
}

void launch(Stream stream, void (*function)(void*), void* argument) {
  EXPECT_PST(PST_Stream_launch(stream, function, argument));
}

void synchronize(Stream stream) {
  EXPECT_PST(PST_Stream_synchronize(stream));
}

void enqueue_delay(Stream stream, std::uintptr_t microseconds) {
  launch(
      stream,
      [](void* time) {
        std::this_thread::sleep_for(
            std::chrono::microseconds(reinterpret_cast<std::uintptr_t>(time)));
      },
      reinterpret_cast<void*>(microseconds));
}

const char* name(Memory memory) {
  return memory == Memory::allocated ? "allocated" : "ordinary";
}

std::byte* allocate(Memory memory, std::size_t bytes, std::byte value) {
  std::byte* address = nullptr;
  if (memory == Memory::allocated) {
    EXPECT_PST(PST_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &address));
  } else {
    address = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  }
  std::memset(address, std::to_integer<int>(value), bytes);
  return address;
}

void free(Memory memory, std::byte* address) {
  if (memory == Memory::allocated) {
    EXPECT_PST(PST_Free_mem(address));
  } else {
    std::free(address);
  }
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

std::byte* make_mirror(std::byte* data, std::size_t) {
  return data;
}

void free_mirror(std::byte*, std::byte*) {}

void enqueue_copy(Stream, std::byte*, const std::byte*, std::size_t) {}

void enqueue_transfer(Stream stream, Transfer& transfer) {
  launch(
      stream,
      [](void* argument) {
        const auto& own = *static_cast<const Transfer*>(argument);
        std::copy_n(own.from, own.bytes, own.to);
      },
      &transfer);
}

int device_of(int) {
  return 0;
}

bool served(Kind) {
  return true;
}

std::string Tally::complaint() const {
  const std::lock_guard lock(mutex_);
  return complaints_ == 0 ? "" : std::to_string(complaints_) + " wrong; the first: " + complaint_;
}

void Tally::set(std::byte* data, std::size_t bytes, std::byte value) {
  std::memset(data, std::to_integer<int>(value), bytes);
}

void Tally::fill(std::byte* data, std::size_t bytes, std::uint64_t key) {
  fill_pattern(data, bytes, key, epochs() + 1);
}

void Tally::check_value(const char* where, const std::byte* data, std::size_t bytes,
                        std::byte value) {
  const std::string found = test::check_value(data, bytes, value);
  if (!found.empty()) note(std::string(where) + ": " + found);
}

void Tally::check(const std::byte* data, std::size_t bytes, std::uint64_t key) {
  const std::string found = check_pattern(data, bytes, key, epochs() + 1);
  if (!found.empty()) note(found);
}

void Tally::count() {
  epochs_.store(epochs() + 1, std::memory_order_release);
}

void Tally::note(const std::string& complaint) {
  const std::lock_guard lock(mutex_);
  if (complaints_++ == 0) complaint_ = complaint;
}

}  // namespace penstock::test
