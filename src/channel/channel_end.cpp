// SPDX-License-Identifier: Apache-2.0
#include "channel/channel_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "channel/cells.hpp"
#include "channel/words.hpp"
#include "core/library.hpp"
#include "core/matched_request.hpp"
#include "core/request_error.hpp"
#include "core/transports.hpp"
#include "peer/peer.hpp"

namespace penstock::channel {

using base::Error;
using base::ErrorKind;
using transport::Message;

namespace {

const char* name_of(Verb verb) noexcept {
  switch (verb) {
    case Verb::put:
      return "PST_Channel_put";
    case Verb::put_wait:
      return "PST_Channel_put_wait";
    case Verb::wait:
      return "PST_Channel_wait";
    case Verb::release:
      break;
  }
  return "PST_Channel_release";
}

bool of_sender(Verb verb) noexcept {
  return verb == Verb::put || verb == Verb::put_wait;
}

// What `body` throws says which call it was, and of which request.
template <class Body>
auto told_by(const core::MatchedRequest& request, const char* call, Body body) {
  try {
    return body();
  } catch (const Error& error) {
    throw core::RequestError(request, error.kind(), fmt::format(": {}: {}", call, error.text()));
  }
}

}  // namespace

ChannelEnd::ChannelEnd(const core::ChannelShape& shape, bool sends,
                       std::shared_ptr<std::byte> memory, Manner manner)
    : grid_(shape),
      partitions_{grid_.units(), shape.unit},
      of_mpi_(false),
      sends_(sends),
      words_(manner.words),
      memory_(std::move(memory)),
      in_use_(manner.check && grid_.units() <= most_units ? grid_.units() : 0) {}

ChannelEnd::ChannelEnd(const core::ChannelShape& shape, const Partitions& partitions, bool sends,
                       Manner manner)
    : grid_(shape),
      partitions_(partitions),
      of_mpi_(true),
      sends_(sends),
      words_(manner.words),
      in_use_(manner.check && grid_.units() <= most_units ? grid_.units() : 0) {}

// ---- The match

void ChannelEnd::require_units(std::uint64_t most) const {
  if (grid_.units() > most)
    throw Error(ErrorKind::unsupported,
                fmt::format("the channel has {} units, of which {} are served: give both ends a "
                            "larger unit",
                            grid_.units(), most));
}

// The transport by which both ends share memory, or null: then each unit is a cell.
peer::Peer* ChannelEnd::by_words(transport::Transport& by, const Message& ours) const {
  if (ours.memory != transport::MemoryKind::host)
    throw Error(ErrorKind::unsupported, "channels in memory of a GPU are not served");
  const bool shares = words_ && grid_.units() != 0 && by.name() == base::peer_transport;
  peer::Peer* const peer = shares ? &core::Library::require().transports().peer() : nullptr;
  require_units(peer ? most_units : most_cells);
  return peer;
}

Message ChannelEnd::cell_of(const Message& channel, std::uint64_t unit) const {
  Message cell = channel;
  if (cell.buffer) cell.buffer = static_cast<std::byte*>(cell.buffer) + grid_.first_byte(unit);
  cell.bytes = grid_.bytes(unit);
  cell.layout = nullptr;
  cell.on_host_streams = true;
  return cell;
}

std::unique_ptr<transport::Offer> ChannelEnd::offer(transport::Transport& by,
                                                    const Message& send) const {
  if (peer::Peer* const peer = by_words(by, send))
    return std::make_unique<WordsOffer>(*peer, grid_, send);
  auto cells = std::make_unique<CellsOffer>(grid_);
  for (std::uint64_t unit = 0; unit < grid_.units(); ++unit)
    cells->add(by.offer(cell_of(send, unit)));
  return cells;
}

std::unique_ptr<transport::Acceptance> ChannelEnd::accept(transport::Transport& by,
                                                          const Message& receive,
                                                          const Message& send,
                                                          std::span<const std::byte> offer) const {
  if (peer::Peer* const peer = by_words(by, receive))
    return std::make_unique<WordsAcceptance>(*peer, grid_, receive, offer);
  auto cells = std::make_unique<CellsAcceptance>(grid_);
  CellRecords records(offer);
  for (std::uint64_t unit = 0; unit < grid_.units(); ++unit)
    cells->add(by.accept(cell_of(receive, unit), cell_of(send, unit), records.next()));
  return cells;
}

// ---- Calls

void ChannelEnd::require_side(const core::MatchedRequest& request, bool sends,
                              const char* call) const {
  if (!request.matched())
    throw core::RequestError(request, ErrorKind::not_matched, core::not_matched_text);
  if (sends != sends_)
    throw core::RequestError(
        request, ErrorKind::argument,
        fmt::format(": {} is for the {} of a channel", call, sends ? "sender" : "receiver"));
  // MPI's message would use the buffer, too. Of a channel that is not MPI's, MPI starts nothing.
  if (of_mpi_ && request.active_in_mpi())
    throw core::RequestError(
        request, ErrorKind::already_started,
        fmt::format(": {}: MPI has the request active: complete what MPI_Start has begun, or leave "
                    "MPI_Start out, as the match has started the channel",
                    call));
}

void ChannelEnd::admit(const Call& call, std::span<const UnitRange> ranges) const {
  if (const auto* const plan = static_cast<ChannelPlan*>(call.request.plan()))
    plan->check(call.queue.stream());
  if (in_use_.empty()) return;
  for (const UnitRange& units : ranges) refuse_misuse(call.verb, units);
}

// All or nothing: room comes first, and only another thread that enqueues on the same stream while
// memory is exhausted can take it. Then what has been enqueued cannot be taken back, and the queue
// has failed.
void ChannelEnd::push(const Call& call, std::span<const UnitRange> ranges) const {
  call.queue.raise();
  auto* const plan = static_cast<ChannelPlan*>(call.request.plan());
  if (!plan) return;  // to or from MPI_PROC_NULL
  if (ranges.size() > 1) call.queue.stream().make_room(ranges.size());
  call.queue.enqueue_work([&](const std::shared_ptr<device::Stream>& stream) {
    bool begun = false;
    try {
      for (const UnitRange& units : ranges) {
        if (units.count == 0) continue;
        plan->enqueue(call.verb, units, stream, call.queue);
        begun = true;
        if (!in_use_.empty()) count(call.verb, units);
      }
    } catch (const Error& error) {
      if (begun) call.queue.fail(error);
      throw;
    }
  });
}

template <class Cut>
void ChannelEnd::enqueue_one(const Call& call, Cut cut) const {
  require_side(call.request, of_sender(call.verb), call.name);
  UnitRange units;
  told_by(call.request, call.name, [&] {
    units = cut();
    admit(call, {&units, 1});
  });
  push(call, {&units, 1});
}

template <class Cut>
bool ChannelEnd::test_one(const core::MatchedRequest& request, const char* call, Cut cut) const {
  require_side(request, false, call);
  auto* const plan = static_cast<ChannelPlan*>(request.plan());
  return told_by(request, call, [&] {
    const UnitRange units = cut();
    return !plan || plan->test(units);
  });
}

void ChannelEnd::enqueue(Verb verb, core::MatchedRequest& request, core::Queue& queue,
                         std::int64_t offset, std::int64_t count) const {
  enqueue_one({verb, name_of(verb), request, queue}, [&] { return grid_.cut(offset, count); });
}

bool ChannelEnd::test(const core::MatchedRequest& request, std::int64_t offset,
                      std::int64_t count) const {
  return test_one(request, "PST_Channel_test", [&] { return grid_.cut(offset, count); });
}

// ---- By partitions

UnitRange ChannelEnd::cut_partitions(std::int64_t low, std::int64_t high) const {
  const auto number = static_cast<std::int64_t>(partitions_.number);
  if (low < 0 || high < low || high >= number)
    throw Error(ErrorKind::argument,
                fmt::format("{} not among the partitions, of which there are {}, from 0 on",
                            low == high ? fmt::format("{} is", low)
                                        : fmt::format("{} to {} are", low, high),
                            number));
  const auto size = static_cast<std::int64_t>(partitions_.elements);
  const auto all = static_cast<std::int64_t>(grid_.shape().count);
  return grid_.cut(low * size, std::min((high + 1) * size, all) - low * size);
}

void ChannelEnd::ready(const char* call, core::MatchedRequest& request, core::Queue& queue, int low,
                       int high) const {
  enqueue_one({Verb::put, call, request, queue}, [&] { return cut_partitions(low, high); });
}

// One that is named twice would be put over its own put. Neighbours are one command.
std::vector<UnitRange> ChannelEnd::cut_list(std::span<const int> list) const {
  std::vector<int> sorted(list.begin(), list.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw Error(ErrorKind::argument, fmt::format("the list has partition {} twice", *twice));
  std::vector<UnitRange> ranges;
  for (const int partition : sorted) {
    const UnitRange units = cut_partitions(partition, partition);
    if (!ranges.empty() && ranges.back().end() == units.first)
      ranges.back().count += units.count;
    else
      ranges.push_back(units);
  }
  return ranges;
}

void ChannelEnd::ready(const char* name, core::MatchedRequest& request, core::Queue& queue,
                       std::span<const int> list) const {
  const Call call{Verb::put, name, request, queue};
  require_side(request, true, name);
  std::vector<UnitRange> ranges;
  told_by(request, name, [&] {
    ranges = cut_list(list);
    admit(call, ranges);
  });
  push(call, ranges);
}

bool ChannelEnd::arrived(const core::MatchedRequest& request, int partition) const {
  return test_one(request, "PST_Parrived", [&] { return cut_partitions(partition, partition); });
}

// ---- With PENSTOCK_CHECK

void ChannelEnd::refuse_misuse(Verb verb, UnitRange units) const {
  if (verb == Verb::put_wait) return;
  const bool wanted = verb == Verb::release;
  for (std::uint32_t unit = units.first; unit < units.end(); ++unit) {
    if (in_use_[unit].load(std::memory_order_relaxed) == wanted) continue;
    if (verb == Verb::release)
      throw Error(ErrorKind::not_started, grid_.text(unit) + " has no PST_Channel_wait before");
    throw Error(ErrorKind::already_started,
                grid_.text(unit) + (verb == Verb::put
                                        ? " was put before, and has no PST_Channel_put_wait since"
                                        : " was waited for, and has no PST_Channel_release since"));
  }
}

void ChannelEnd::count(Verb verb, UnitRange units) const noexcept {
  for (std::uint32_t unit = units.first; unit < units.end(); ++unit)
    in_use_[unit].store(verb == Verb::put || verb == Verb::wait, std::memory_order_relaxed);
}

}  // namespace penstock::channel
