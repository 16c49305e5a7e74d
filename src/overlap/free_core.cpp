// SPDX-License-Identifier: Apache-2.0
#include "overlap/free_core.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "base/descriptor.hpp"

namespace penstock::overlap {

namespace {

int usable_cores() noexcept {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
}

int open_to_read(const char* name) noexcept {
  return base::beyond_standard_streams(open(name, O_RDONLY | O_CLOEXEC));
}

int open_state_of_this_thread() noexcept {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "/proc/self/task/%ld/stat", syscall(SYS_gettid));
  return open_to_read(name.data());
}

using Text = std::array<char, 512>;

// False: it cannot be read.
bool read_again(int file, Text& text) noexcept {
  text = {};
  return file >= 0 && pread(file, text.data(), text.size() - 1, 0) > 0;
}

}  // namespace

FreeCore::FreeCore() noexcept
    : program_(open_state_of_this_thread()),
      system_(open_to_read("/proc/loadavg")),
      cores_(usable_cores()) {}

FreeCore::~FreeCore() {
  for (const int file : {program_, system_})
    if (file >= 0) close(file);
}

// "4711 (name) S 1 ...": a name may hold anything.
bool FreeCore::program_sleeps() const noexcept {
  Text text;
  if (!read_again(program_, text)) return false;
  const char* const end_of_name = std::strrchr(text.data(), ')');
  return end_of_name != nullptr && end_of_name[1] == ' ' && end_of_name[2] == 'S';
}

// "0.20 0.18 0.12 1/80 11206": the fourth is how many run or want to, with this thread.
bool FreeCore::found() const noexcept {
  if (program_sleeps()) return true;
  Text text;
  int running = 0;
  return read_again(system_, text) && std::sscanf(text.data(), "%*s %*s %*s %d/", &running) == 1 &&
         running <= cores_;
}

}  // namespace penstock::overlap
