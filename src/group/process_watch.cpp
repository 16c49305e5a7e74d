// SPDX-License-Identifier: Apache-2.0
#include "group/process_watch.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace penstock::group {

namespace {

std::array<char, 48> name_of_mark(const std::uint64_t (&nonce)[2]) noexcept {
  std::array<char, 48> name{};
  std::snprintf(name.data(), name.size(), "penstock-%016" PRIx64 "%016" PRIx64, nonce[0], nonce[1]);
  return name;
}

int open_process(std::int64_t pid) {
#ifdef SYS_pidfd_open
  return base::beyond_standard_streams(
      static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0u)));
#else
  (void)pid;
  errno = ENOSYS;
  return -1;
#endif
}

// Nobody wakes us when the event has been closed under a sleep.
constexpr int longest_sleep = 1000;  // milliseconds

// Whether a descriptor of ours is still what it was made as: "eventfd", "pidfd". Where the system
// does not show it, the number alone counts.
bool still_is(int descriptor, std::string_view kind) noexcept {
  if (descriptor < 0 || fcntl(descriptor, F_GETFD) < 0) return false;
  char path[40] = "";
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  char target[64] = "";
  const ssize_t length = readlink(path, target, sizeof target);
  return length < 0 || std::string_view(target, static_cast<std::size_t>(length)).find(kind) !=
                           std::string_view::npos;
}

int make_event() noexcept {
  return base::beyond_standard_streams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

}  // namespace

bool ProcessPlace::is_here() const {
  if (mark < 0) return false;
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(mark);
  char target[128] = "";
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  return length > 0 && std::string_view(target, static_cast<std::size_t>(length)) ==
                           std::string("/memfd:") + name_of_mark(nonce).data() + " (deleted)";
}

ProcessMark::ProcessMark() {
  place_.pid = getpid();
  if (getrandom(place_.nonce, sizeof place_.nonce, 0) == static_cast<ssize_t>(sizeof place_.nonce))
    place_.mark =
        base::beyond_standard_streams(memfd_create(name_of_mark(place_.nonce).data(), MFD_CLOEXEC));
  if (place_.mark < 0)
    base::log::warn(
        std::string(
            "the end of this process would not be noticed at once by others: memfd_create: ") +
        std::strerror(errno));
}

ProcessMark::~ProcessMark() {
  if (place_.mark >= 0 &&
      still_is(static_cast<int>(place_.mark), name_of_mark(place_.nonce).data()))
    close(static_cast<int>(place_.mark));
}

ProcessWatch::ProcessWatch(const std::vector<ProcessPlace>& places, int own)
    : dead_(std::make_unique<std::atomic<bool>[]>(places.size())) {
  const int event = make_event();
  if (event < 0)
    throw base::Error(base::ErrorKind::resources, std::string("cannot create an eventfd (") +
                                                      std::strerror(errno) +
                                                      "): raise the limit of open files");
  event_.store(event);
  descriptors_.push_back({event, POLLIN, 0});
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    if (static_cast<int>(rank) == own || !places[rank].is_here()) continue;
    ++found_;
    add(static_cast<int>(rank), places[rank]);
  }
  mark_ended();
}

ProcessWatch::~ProcessWatch() {
  while (descriptors_.size() > 1) take_out(descriptors_.size() - 1);
  if (still_is(event_, "eventfd")) close(event_);
}

void ProcessWatch::add(int rank, const ProcessPlace& place) {
  const int descriptor = open_process(place.pid);
  if (descriptor < 0) {
    if (errno == ESRCH) {
      mark_dead(rank);
      return;
    }
    // Without it a dead peer is seen only by PENSTOCK_TIMEOUT.
    base::log::warn("the end of rank " + std::to_string(rank) +
                    " would not be noticed at once: pidfd_open: " + std::strerror(errno));
    return;
  }
  // Looked at again: from now on the number cannot be given away unnoticed.
  if (!place.is_here()) {
    mark_dead(rank);
    close(descriptor);
    return;
  }
  descriptors_.push_back({descriptor, POLLIN, 0});
  ranks_.push_back(rank);
}

void ProcessWatch::watch(int milliseconds) noexcept {
  const int limit = milliseconds < 0 ? longest_sleep : std::min(milliseconds, longest_sleep);
  if (poll(descriptors_.data(), descriptors_.size(), limit) <= 0) return;
  if (descriptors_[0].revents != 0) {
    std::uint64_t wakes = 0;
    if (!still_is(descriptors_[0].fd, "eventfd") ||
        read(descriptors_[0].fd, &wakes, sizeof wakes) < 0)
      mend_event();
  }
  mark_ended();
}

// Without a new one each sleep lasts as long as it may: poll() passes over a negative descriptor.
void ProcessWatch::mend_event() noexcept {
  const int event = make_event();
  event_.store(event);
  descriptors_[0].fd = event;
  base::log::warn(
      "the program has closed a descriptor of Penstock's, by which a thread of ours is woken");
}

// A descriptor stays readable once its process has ended, so it is taken out. So is one that is
// ours no more, whose process is not dead for that.
void ProcessWatch::mark_ended() noexcept {
  if (poll(descriptors_.data(), descriptors_.size(), 0) <= 0) return;
  for (std::size_t i = descriptors_.size(); i-- > 1;) {
    if (descriptors_[i].revents == 0) continue;
    if (still_is(descriptors_[i].fd, "pidfd"))
      mark_dead(ranks_[i - 1]);
    else
      base::log::warn(
          "the program has closed a descriptor of Penstock's: the "
          "end of another process is not noticed at once any more");
    take_out(i);
  }
}

void ProcessWatch::mark_dead(int rank) noexcept {
  dead_[static_cast<std::size_t>(rank)].store(true, std::memory_order_release);
  any_dead_.store(true, std::memory_order_release);
}

void ProcessWatch::take_out(std::size_t descriptor) noexcept {
  if (still_is(descriptors_[descriptor].fd, "pidfd")) close(descriptors_[descriptor].fd);
  descriptors_[descriptor] = descriptors_.back();
  descriptors_.pop_back();
  ranks_[descriptor - 1] = ranks_.back();
  ranks_.pop_back();
}

void ProcessWatch::wake() noexcept {
  const int event = event_.load();
  const std::uint64_t one = 1;
  if (!still_is(event, "eventfd")) return;  // the sleep ends by itself
  // Fails only when the counter is full, and then the event is readable anyway.
  [[maybe_unused]] const auto written = write(event, &one, sizeof one);
}

}  // namespace penstock::group
