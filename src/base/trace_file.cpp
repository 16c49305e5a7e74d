// SPDX-License-Identifier: Apache-2.0
#include "base/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "base/log.hpp"
#include "base/thread.hpp"

namespace penstock::base {

using trace::Event;
using trace::OwnerTrace;
using trace::QueueTrace;
using trace::StreamTrace;
using trace::Track;

namespace {

constexpr std::size_t events_a_track = std::size_t{1} << 16;  // until they are written: 4 MiB
constexpr std::size_t text_at_once = std::size_t{1} << 20;

}  // namespace

TraceFile::TraceFile(const std::string& pattern, int rank)
    : file_("PENSTOCK_TRACE", pattern, OutputFile::OpenMode::replace), lines_(rank) {
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
    write_owners(true);
    lines_.add_end();
    write_lines();
  } catch (const std::exception& failure) {
    log::error(fmt::format("PENSTOCK_TRACE: {} ends too early: {}", file_.path(), failure.what()));
  }
  if (dropped_ > 0)
    log::warn(fmt::format(
        "PENSTOCK_TRACE: {} events came faster than they could be written to {}, and were dropped",
        dropped_, file_.path()));
}

QueueTrace& TraceFile::add_queue(std::uint64_t number, std::uint64_t host_stream) {
  return add(std::make_unique<QueueTrace>(number, host_stream, events_a_track, sleeper_));
}

StreamTrace& TraceFile::add_stream(std::uint64_t number) {
  return add(std::make_unique<StreamTrace>(number, events_a_track, sleeper_));
}

template <class Owner>
Owner& TraceFile::add(std::unique_ptr<Owner> owner) {
  Owner& added = *owner;
  const std::lock_guard lock(mutex_);
  owners_.push_back(std::move(owner));
  return added;
}

std::vector<OwnerTrace*> TraceFile::owners() {
  const std::lock_guard lock(mutex_);
  std::vector<OwnerTrace*> all;
  for (const auto& owner : owners_) all.push_back(owner.get());
  return all;
}

bool TraceFile::has_work() noexcept {
  if (stopping_.load(std::memory_order_acquire)) return true;
  const std::lock_guard lock(mutex_);
  return std::any_of(owners_.begin(), owners_.end(), [](const auto& owner) {
    return owner->closed.load(std::memory_order_acquire) ||
           std::any_of(owner->tracks.begin(), owner->tracks.end(),
                       [](const Track* track) { return track->half_full(); });
  });
}

void TraceFile::run() noexcept {
  while (!stopping_.load(std::memory_order_acquire)) {
    sleeper_.sleep_unless([this] { return has_work(); });
    try {
      write_owners(false);
    } catch (const std::exception& failure) {
      log::error(fmt::format("PENSTOCK_TRACE: {}", failure.what()));
    }
  }
}

// Closed is asked first: what was recorded before is there then.
void TraceFile::write_owners(bool all) {
  for (OwnerTrace* const owner : owners()) {
    const bool closed = all || owner->closed.load(std::memory_order_acquire);
    write_events(*owner);
    if (closed) end_owner(*owner);
  }
}

void TraceFile::write_events(OwnerTrace& owner) {
  if (!owner.announced) lines_.announce(owner);
  owner.announced = true;
  for (Track* const track : owner.tracks) {
    track->take_all([&](const Event& event) {
      lines_.add(owner.number, event);
      if (lines_.text().size() >= text_at_once) write_lines();
    });
  }
  write_lines();
}

void TraceFile::end_owner(OwnerTrace& owner) {
  std::uint64_t dropped = 0;
  for (const Track* const track : owner.tracks) dropped += track->dropped();
  if (dropped > 0) lines_.add_dropped(owner, dropped);
  dropped_ += dropped;
  const std::lock_guard lock(mutex_);
  owners_.erase(std::find_if(owners_.begin(), owners_.end(),
                             [&](const auto& one) { return one.get() == &owner; }));
}

void TraceFile::write_lines() {
  if (!broken_ && !file_.write(lines_.text())) {
    broken_ = true;
    log::error(
        fmt::format("PENSTOCK_TRACE: {} lacks events: {}", file_.path(), std::strerror(errno)));
  }
  lines_.clear();
}

}  // namespace penstock::base
