// SPDX-License-Identifier: Apache-2.0
#include "group/process_watch.hpp"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"

namespace penstock::group {

namespace {

std::string name_of_mark(const std::uint64_t (&nonce)[2]) {
  char name[48] = "";
  std::snprintf(name, sizeof name, "penstock-%016" PRIx64 "%016" PRIx64, nonce[0], nonce[1]);
  return name;
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

bool ProcessPlace::is_here() const {
  if (mark < 0) return false;
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(mark);
  char target[128] = "";
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  return length > 0 &&
         std::string_view(target, static_cast<std::size_t>(length)) == "/memfd:" + name_of_mark(nonce) + " (deleted)";
}

ProcessMark::ProcessMark() {
  place_.pid = getpid();
  if (getrandom(place_.nonce, sizeof place_.nonce, 0) == static_cast<ssize_t>(sizeof place_.nonce))
    place_.mark = memfd_create(name_of_mark(place_.nonce).c_str(), MFD_CLOEXEC);
  if (place_.mark < 0)
    base::log::warn(std::string("the end of this process would not be noticed at once by others: memfd_create: ") +
                    std::strerror(errno));
}

ProcessMark::~ProcessMark() {
  if (place_.mark >= 0) close(static_cast<int>(place_.mark));
}

ProcessWatch::ProcessWatch(const std::vector<ProcessPlace>& places, int own)
    : dead_(std::make_unique<std::atomic<bool>[]>(places.size())) {
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0)
    throw base::Error(base::ErrorKind::resources, std::string("cannot create an eventfd (") + std::strerror(errno) +
                                                      "): raise the limit of open files");
  descriptors_.push_back({event, POLLIN, 0});
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    if (static_cast<int>(rank) == own || !places[rank].is_here()) continue;
    ++found_;
    add(static_cast<int>(rank), places[rank]);
  }
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
  // Looked at again: from now on the number cannot be given away unnoticed.
  if (!place.is_here()) {
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
