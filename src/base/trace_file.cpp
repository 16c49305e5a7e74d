// SPDX-License-Identifier: Apache-2.0
#include "base/trace_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "base/error.hpp"
#include "base/file_name.hpp"
#include "base/log.hpp"
#include "base/thread.hpp"

namespace penstock::base {

using trace::Event;
using trace::QueueTrace;
using trace::Track;

namespace {

constexpr std::size_t events_a_track = std::size_t{1} << 16;  // until they are written: 4 MiB
constexpr std::size_t text_at_once = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::string& pattern, const std::string& why) {
  throw Error(ErrorKind::setting, fmt::format("PENSTOCK_TRACE='{}' is not valid: {}", pattern, why));
}

[[noreturn]] void refuse_file(const std::string& pattern, int error) {
  refuse(pattern, fmt::format("give a file that can be written ({})", std::strerror(error)));
}

bool is_regular(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

// A regular file is locked for as long as it is open: two processes with one name would write over each other.
std::FILE* open_file(const std::string& pattern, const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) refuse_file(pattern, errno);
  std::unique_ptr<std::FILE, CloseFile> file(fdopen(descriptor, "w"));
  if (!file) {
    const int error = errno;
    close(descriptor);
    refuse_file(pattern, error);
  }
  if (!is_regular(descriptor)) return file.release();
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    refuse(pattern, "another process is writing that file: have %p, the process number, in its name");
  if (ftruncate(descriptor, 0) != 0) refuse_file(pattern, errno);
  return file.release();
}

}  // namespace

TraceFile::TraceFile(const std::string& pattern, int rank)
    : path_(expand_file_name(pattern)), file_(open_file(pattern, path_)), lines_(rank) {
  lines_.add_process();
  write_lines();
  if (std::fflush(file_.get()) != 0) refuse_file(pattern, errno);
  thread_ = start_thread("penstock-trace", [this] { run(); });
}

TraceFile::~TraceFile() {
  stopping_.store(true, std::memory_order_release);
  sleeper_.wake();
  thread_.join();
  try {
    write_queues(true);
    lines_.add_end();
    write_lines();
    if (!broken_ && std::fflush(file_.get()) != 0) say_broken();
  } catch (const std::exception& failure) {
    log::error(fmt::format("PENSTOCK_TRACE: {} ends too early: {}", path_, failure.what()));
  }
  if (dropped_ > 0)
    log::warn(fmt::format("PENSTOCK_TRACE: {} events came faster than they could be written to {}, and were dropped",
                          dropped_, path_));
}

QueueTrace& TraceFile::add_queue(std::uint64_t number) {
  auto queue = std::make_unique<QueueTrace>(number, events_a_track, sleeper_);
  const std::lock_guard lock(mutex_);
  return *queues_.emplace_back(std::move(queue));
}

std::vector<QueueTrace*> TraceFile::queues() {
  const std::lock_guard lock(mutex_);
  std::vector<QueueTrace*> all;
  for (const auto& queue : queues_) all.push_back(queue.get());
  return all;
}

bool TraceFile::has_work() noexcept {
  if (stopping_.load(std::memory_order_acquire)) return true;
  const std::lock_guard lock(mutex_);
  return std::any_of(queues_.begin(), queues_.end(), [](const auto& queue) {
    return queue->closed.load(std::memory_order_acquire) || queue->calls.half_full() || queue->stream.half_full();
  });
}

void TraceFile::run() noexcept {
  while (!stopping_.load(std::memory_order_acquire)) {
    sleeper_.sleep_unless([this] { return has_work(); });
    try {
      write_queues(false);
    } catch (const std::exception& failure) {
      log::error(fmt::format("PENSTOCK_TRACE: {}", failure.what()));
    }
  }
}

// Closed is asked first: what was recorded before is there then.
void TraceFile::write_queues(bool all) {
  for (QueueTrace* const queue : queues()) {
    const bool closed = all || queue->closed.load(std::memory_order_acquire);
    write_events(*queue);
    if (closed) end_queue(*queue);
  }
}

void TraceFile::write_events(QueueTrace& queue) {
  if (!queue.announced) lines_.add_queue(queue.number);
  queue.announced = true;
  for (Track* const track : {&queue.calls, &queue.stream}) {
    track->take_all([&](const Event& event) {
      lines_.add(queue.number, event);
      if (lines_.text().size() >= text_at_once) write_lines();
    });
  }
  write_lines();
}

void TraceFile::end_queue(QueueTrace& queue) {
  const std::uint64_t dropped = queue.calls.dropped() + queue.stream.dropped();
  if (dropped > 0) lines_.add_dropped(queue.number, dropped);
  dropped_ += dropped;
  const std::lock_guard lock(mutex_);
  queues_.erase(std::find_if(queues_.begin(), queues_.end(), [&](const auto& one) { return one.get() == &queue; }));
}

void TraceFile::write_lines() {
  const std::string& text = lines_.text();
  if (!broken_ && std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) {
    broken_ = true;
    say_broken();
  }
  lines_.clear();
}

void TraceFile::say_broken() {
  log::error(fmt::format("PENSTOCK_TRACE: {} lacks events: {}", path_, std::strerror(errno)));
}

}  // namespace penstock::base
