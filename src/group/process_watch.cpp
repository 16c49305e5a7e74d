// SPDX-License-Identifier: Apache-2.0
#include "group/process_watch.hpp"

#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"

namespace penstock::group {

namespace {

// Field 22 of /proc/<pid>/stat. The second one is the program's name in parentheses, which may hold anything.
std::uint64_t start_time_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string line;
  std::getline(file, line);
  std::size_t place = line.rfind(')');
  for (int field = 2; field < 22 && place != std::string::npos; ++field) place = line.find(' ', place + 1);
  return place == std::string::npos ? 0 : std::strtoull(line.c_str() + place + 1, nullptr, 10);
}

int open_process(std::int64_t pid) {
#ifdef SYS_pidfd_open
  return static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0u));
#else
  (void)pid;
  errno = ENOSYS;
  return -1;
#endif
}

}  // namespace

ProcessPlace ProcessPlace::of_this_process() {
  ProcessPlace place;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  if (boot.empty()) {
    char host[sizeof place.boot] = "";
    gethostname(host, sizeof host - 1);
    boot = host;
  }
  std::snprintf(place.boot, sizeof place.boot, "%s", boot.c_str());
  struct stat status {};
  if (stat("/proc/self/ns/pid", &status) == 0) place.pid_namespace = status.st_ino;
  place.start_time = start_time_of("self");
  place.pid = getpid();
  return place;
}

bool ProcessPlace::same_kernel(const ProcessPlace& other) const noexcept {
  return std::strcmp(boot, other.boot) == 0;
}

bool ProcessPlace::can_see(const ProcessPlace& other) const noexcept {
  return same_kernel(other) && pid_namespace != 0 && pid_namespace == other.pid_namespace;
}

ProcessWatch::ProcessWatch(const std::vector<ProcessPlace>& places, int own)
    : dead_(std::make_unique<std::atomic<bool>[]>(places.size())) {
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0)
    throw base::Error(base::ErrorKind::resources, std::string("cannot create an eventfd (") + std::strerror(errno) +
                                                      "): raise the limit of open files");
  descriptors_.push_back({event, POLLIN, 0});
  const ProcessPlace& mine = places[static_cast<std::size_t>(own)];
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (static_cast<int>(rank) != own && mine.can_see(places[rank])) add(static_cast<int>(rank), places[rank]);
  mark_ended();
}

ProcessWatch::~ProcessWatch() {
  for (const pollfd& entry : descriptors_) close(entry.fd);
}

void ProcessWatch::add(int rank, const ProcessPlace& place) {
  const int descriptor = open_process(place.pid);
  if (descriptor < 0) {
    if (errno == ESRCH) {
      dead_[static_cast<std::size_t>(rank)].store(true, std::memory_order_release);
      return;
    }
    // Without it a dead peer is seen only by PENSTOCK_TIMEOUT.
    base::log::warn("the end of rank " + std::to_string(rank) +
                    " would not be noticed at once: pidfd_open: " + std::strerror(errno));
    return;
  }
  // Compared after opening: from now on the number cannot be given away unnoticed.
  const std::uint64_t start_time = start_time_of(std::to_string(place.pid));
  if (start_time != 0 && place.start_time != 0 && start_time != place.start_time) {
    dead_[static_cast<std::size_t>(rank)].store(true, std::memory_order_release);
    close(descriptor);
    return;
  }
  descriptors_.push_back({descriptor, POLLIN, 0});
  ranks_.push_back(rank);
}

void ProcessWatch::watch(int milliseconds) noexcept {
  if (poll(descriptors_.data(), descriptors_.size(), milliseconds) <= 0) return;
  if (descriptors_[0].revents != 0) {
    std::uint64_t wakes = 0;
    [[maybe_unused]] const auto read_bytes = read(descriptors_[0].fd, &wakes, sizeof wakes);
  }
  mark_ended();
}

// A descriptor stays readable once its process has ended, so it is taken out.
void ProcessWatch::mark_ended() noexcept {
  if (poll(descriptors_.data(), descriptors_.size(), 0) <= 0) return;
  for (std::size_t i = descriptors_.size(); i-- > 1;) {
    if (descriptors_[i].revents == 0) continue;
    dead_[static_cast<std::size_t>(ranks_[i - 1])].store(true, std::memory_order_release);
    close(descriptors_[i].fd);
    descriptors_[i] = descriptors_.back();
    descriptors_.pop_back();
    ranks_[i - 1] = ranks_.back();
    ranks_.pop_back();
  }
}

void ProcessWatch::wake() noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the event is readable anyway.
  [[maybe_unused]] const auto written = write(descriptors_[0].fd, &one, sizeof one);
}

}  // namespace penstock::group
