// SPDX-License-Identifier: Apache-2.0
#include "base/run_delay.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace penstock::base {
namespace {

// In nanoseconds.
struct Times {
  std::uint64_t ran = 0;
  std::uint64_t waited = 0;
};

// `path` is that of a thread's folder, from `directory` on.
Times times_of(int directory, const char* path) noexcept {
  std::array<char, 300> name;  // a name in a folder has up to 255 letters
  std::snprintf(name.data(), name.size(), "%s/schedstat", path);
  const int file = openat(directory, name.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 100> text{};
  const ssize_t length = read(file, text.data(), text.size() - 1);
  close(file);
  Times times;
  const bool read_both = length > 0 && std::sscanf(text.data(), "%" SCNu64 " %" SCNu64, &times.ran,
                                                   &times.waited) == 2;
  return read_both ? times : Times{};
}

std::atomic<std::uint64_t> ended_ran{0};
std::atomic<std::uint64_t> ended_waited{0};

}  // namespace

// By the system's calls: the iterators of std::filesystem end the process where they get no memory.
RunDelay look_at_run_delay() noexcept {
  double ran = static_cast<double>(ended_ran.load(std::memory_order_relaxed));
  double waited = static_cast<double>(ended_waited.load(std::memory_order_relaxed));
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir("/proc/self/task"), closedir);
  for (const dirent* each = nullptr; tasks && (each = readdir(tasks.get())) != nullptr;) {
    if (each->d_name[0] == '.') continue;  // ".." is the process, which is its first thread
    const Times times = times_of(dirfd(tasks.get()), each->d_name);
    ran += static_cast<double>(times.ran);
    waited += static_cast<double>(times.waited);
  }
  return {ran * 1e-9, waited * 1e-9};
}

void keep_run_delay() noexcept {
  const Times times = times_of(AT_FDCWD, "/proc/thread-self");
  ended_ran.fetch_add(times.ran, std::memory_order_relaxed);
  ended_waited.fetch_add(times.waited, std::memory_order_relaxed);
}

}  // namespace penstock::base
