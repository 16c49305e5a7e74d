// SPDX-License-Identifier: Apache-2.0
#include "base/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "base/log.hpp"
#include "base/thread.hpp"

namespace penstock::base {

using trace::Event;
using trace::QueueTrace;
using trace::Track;

namespace {

constexpr std::size_t events_a_track = std::size_t{1} << 16;  // until they are written: 4 MiB
constexpr std::size_t text_at_once = std::size_t{1} << 20;

}  // namespace

TraceFile::TraceFile(const std::string& pattern, int rank)
    : file_("PENSTOCK_TRACE", pattern, OutputFile::Mode::replace), lines_(rank) {
  lines_.add_process();
  if (!file_.write(lines_.text())) file_.refuse_by_errno();
  lines_.clear();
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
  } catch (const std::exception& failure) {
    log::error(fmt::format("PENSTOCK_TRACE: {} ends too early: {}", file_.path(), failure.what()));
  }
  if (dropped_ > 0)
    log::warn(fmt::format("PENSTOCK_TRACE: {} events came faster than they could be written to {}, and were dropped",
                          dropped_, file_.path()));
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
  if (!broken_ && !file_.write(lines_.text())) {
    broken_ = true;
    log::error(fmt::format("PENSTOCK_TRACE: {} lacks events: {}", file_.path(), std::strerror(errno)));
  }
  lines_.clear();
}

}  // namespace penstock::base
