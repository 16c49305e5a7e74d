// SPDX-License-Identifier: Apache-2.0
// Which messages are large ones, and the life of the engine.
#include "api/overlap.hpp"

#include <fmt/format.h>

#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "api/enqueued.hpp"
#include "api/overlap_messages.hpp"
#include "api/recorder.hpp"
#include "base/forked.hpp"
#include "base/log.hpp"
#include "core/library.hpp"
#include "core/monitor.hpp"
#include "core/transports.hpp"
#include "group/mpi_communicator.hpp"

namespace penstock::api {

using overlap::Caller;
using transport::Direction;

std::atomic<bool> overlap_begun{false};

namespace {

// The monitor's thread may be at the table when the engine ends.
std::mutex life;

void warn_of_processes_apart(const overlap::Engine& made) {
  const auto apart = made.apart();
  if (!apart) return;
  base::log::warn(fmt::format(
      "PENSTOCK_OVERLAP=exact: ranks {} and {} cannot read each other's memory (they are on two "
      "hosts, or the system or PENSTOCK_CMA=0 forbids it): large messages stay MPI's on all "
      "communicators that have both, such as MPI_COMM_WORLD",
      apart->first, apart->second));
}

std::string lines_of_table() {
  const std::lock_guard lock(life);
  return large::engine != nullptr ? large::engine->lines() : std::string();
}

}  // namespace

void begin_overlap() noexcept {
  core::Library* const library = core::Library::get();
  if (library == nullptr || library->settings().overlap == base::Overlap::off || overlaps()) return;
  base::log::failures_in([&] {
    library->world().together([] {
      if (!why_not_recording().empty())
        throw base::Error(
            base::ErrorKind::setting,
            "PENSTOCK_OVERLAP=exact needs to see MPI's calls: " + why_not_recording());
      large::prepare_questions();
    });
    auto made = std::make_unique<overlap::Engine>(library->settings(), library->world(),
                                                  library->transports().peer());
    if (library->world().rank() == 0) warn_of_processes_apart(*made);
    if (!made->connected()) return;
    tell_requests_of_errors();
    large::engine = made.release();
    library->add_to_table(lines_of_table);
    library->monitor().begin_watching();  // SIGUSR1 prints the table
    overlap_begun.store(true, std::memory_order_release);
  });
}

void end_overlap() noexcept {
  if (!overlaps()) return;
  {
    OverlapWait wait(true);
    while (!large::engine->idle()) {
      wait.look();
      drive_overlap(Caller::waiting);
      large::give_mpi_time();
      wait.pause();
    }
    drive_overlap(Caller::waiting);
  }
  overlap_begun.store(false, std::memory_order_relaxed);
  const overlap::Counts counts = large::engine->counts();
  base::log::failures_in([&] {
    base::log::info(fmt::format(
        "large messages (PENSTOCK_OVERLAP): {} sent; read: {} by the thread, {} by the program's "
        "calls, {} by the thread as those did not come; {} came before their receive",
        counts.sent, counts.by_thread, counts.by_program, counts.by_grace, counts.unexpected));
  });
  {
    const std::lock_guard lock(life);
    delete std::exchange(large::engine, nullptr);
  }
  enqueued::free_held(large::requests.home);
}

std::vector<std::pair<std::string, std::uint64_t>> count_large_messages() {
  if (!overlaps()) return {};
  const overlap::Counts counts = large::engine->counts();
  return {{"sent", counts.sent},
          {"read_by_thread", counts.by_thread},
          {"read_by_program", counts.by_program},
          {"read_by_thread_at_last", counts.by_grace},
          {"unexpected", counts.unexpected}};
}

namespace {

// Nothing: there are none, or MPI itself cannot count them.
std::optional<std::size_t> bytes_of(const MessageCall& call) {
  MPI_Count size = 0;
  if (call.count <= 0 || call.datatype == MPI_DATATYPE_NULL ||
      PMPI_Type_size_x(call.datatype, &size) != MPI_SUCCESS || size <= 0)
    return std::nullopt;
  if (call.count > std::numeric_limits<MPI_Count>::max() / size) return std::nullopt;
  return static_cast<std::size_t>(size * call.count);
}

// Wildcards are a receive's.
bool is_right_tag(const MessageCall& call) {
  static const int last = group::last_tag();
  if (call.tag == MPI_ANY_TAG) return call.direction == Direction::receive;
  return call.tag >= 0 && call.tag <= last;
}

bool is_right_peer(const MessageCall& call, const group::Communicator& communicator) {
  if (call.peer == MPI_ANY_SOURCE) return call.direction == Direction::receive;
  return call.peer >= 0 && call.peer < group::peers_of(communicator);
}

// A datatype of addresses goes with MPI_BOTTOM, which may be null.
bool is_right_buffer(const MessageCall& call) {
  if (call.buffer != nullptr) return true;
  MPI_Count lowest = 0, extent = 0;
  return PMPI_Type_get_true_extent_x(call.datatype, &lowest, &extent) == MPI_SUCCESS && lowest != 0;
}

}  // namespace

std::optional<LargeMessage> large_message(const MessageCall& call) noexcept {
  try {
    const auto bytes = bytes_of(call);
    if (!bytes || *bytes < large::engine->least_bytes() || call.peer == MPI_PROC_NULL ||
        base::forked())
      return std::nullopt;
    LargeMessage message{large::served(call.comm), core::any_rank, *bytes};
    if (!message.communicator || !is_right_tag(call) ||
        !is_right_peer(call, *message.communicator) || !is_right_buffer(call) ||
        !large::committed(call.datatype))
      return std::nullopt;
    if (call.peer != MPI_ANY_SOURCE)
      message.peer_world = group::world_rank(*message.communicator, call.peer);
    return message;
  } catch (const std::exception&) {
    return std::nullopt;  // MPI's call says what is wrong
  }
}

}  // namespace penstock::api
