// SPDX-License-Identifier: Apache-2.0
#include "channel/word_plan.hpp"

#include <fmt/format.h>

#include <utility>

#include "peer/copy_error.hpp"
#include "plan/peer_closed.hpp"

namespace penstock::channel {

using base::Error;
using base::ErrorKind;
using protocol::Epoch;
using protocol::Progress;

namespace segment = protocol::segment;

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

WordPlan::WordPlan(const Grid& grid, bool sends, std::unique_ptr<peer::Units> units)
    : ChannelPlan(grid, sends),
      units_(std::move(units)),
      puts_(sends ? grid.units() : 0),
      takes_(sends ? 0 : grid.units()) {}

std::string WordPlan::path() const {
  return fmt::format("a channel of {} units over {}", grid().units(), units_->path());
}

std::string WordPlan::describe_unit(std::uint32_t unit) const {
  const Port now = port();
  if (sends())
    return fmt::format("message {}, waits for the release of the one before (RELEASED {})",
                       puts_[unit].put.load(relaxed),
                       now.load<std::memory_order_relaxed>(segment::UnitWord::released, unit));
  return fmt::format("message {}, waits for its put (ARRIVED {})",
                     takes_[unit].taken.load(relaxed) + 1,
                     now.load<std::memory_order_relaxed>(segment::UnitWord::arrived, unit));
}

// ---- What calls do

bool WordPlan::put(const UnitRange& units, Failure& failure) noexcept {
  Port port = this->port();
  segment::Writing writing(port);
  std::uint32_t unit = units.first;
  for (const std::uint32_t end = units.end(); unit < end; ++unit) {
    PutUnit& own = puts_[unit];
    segment::PutState state{own.put.load(relaxed), own.sent.load(relaxed)};
    segment::put(writing, unit, state);
    own.put.store(state.put, relaxed);
    own.sent.store(state.sent, relaxed);
    if (writing.refused() || port.copy_error() != 0) break;
  }
  if (const int error = port.copy_error(); error != 0)
    failure = error_of(unit, peer::copy_error(units_->peer(), error));
  else if (writing.refused())
    failure = why_hopeless(unit);
  return !failure;
}

bool WordPlan::put_wait(UnitRange& units, Failure& failure) noexcept {
  Port port = this->port();
  segment::Writing writing(port);
  const std::uint32_t end = units.end();
  for (std::uint32_t unit = units.first; unit < end; ++unit) {
    PutUnit& own = puts_[unit];
    segment::PutState state{own.put.load(relaxed), own.sent.load(relaxed)};
    const bool ended = segment::put_wait(writing, unit, state) == Progress::ended;
    own.sent.store(state.sent, relaxed);
    if (const int error = port.copy_error(); error != 0) {
      failure = error_of(unit, peer::copy_error(units_->peer(), error));
      return false;
    }
    if (!ended || unit != units.first) continue;
    own.waited.store(state.put, relaxed);
    units.pass_first();
  }
  return units.count == 0;
}

// Units are taken as they come, and the call goes on with the rest.
bool WordPlan::take(UnitRange& units) noexcept {
  Port port = this->port();
  while (units.count != 0) {
    const std::uint32_t unit = units.first;
    TakeUnit& own = takes_[unit];
    segment::TakeState state{own.taken.load(relaxed)};
    if (!segment::has_arrived(port, unit, state)) return false;
    port.take_out(unit);
    segment::take(state);
    own.taken.store(state.taken, relaxed);
    units.pass_first();
  }
  return true;
}

bool WordPlan::release(const UnitRange& units) noexcept {
  Port port = this->port();
  for (std::uint32_t unit = units.first; unit < units.end(); ++unit) {
    const segment::TakeState state{takes_[unit].taken.load(relaxed)};
    takes_[unit].released.store(state.taken, relaxed);
    segment::release(port, unit, state);
  }
  return true;
}

bool WordPlan::look(Verb verb, UnitRange& units, Failure& failure) noexcept {
  switch (verb) {
    case Verb::put:
      return put(units, failure);
    case Verb::put_wait:
      return put_wait(units, failure);
    case Verb::wait:
      return take(units);
    case Verb::release:
      break;
  }
  return release(units);
}

bool WordPlan::advance_all(Verb verb, Call& call, LastingWait& wait,
                           transport::Sink& sink) noexcept {
  Failure failure;
  const std::uint32_t first = call.units.first;
  if (look(verb, call.units, failure)) return true;
  if (call.units.first != first) wait.end(sink);  // the next unit's wait begins here
  if (!failure && wait.found_nothing(call.units.first, sink)) {
    if (const Error* const cancelled = wait.cancelled()) {
      failure = error_of(call.units.first, *cancelled);
    } else if (auto reason = why_hopeless(call.units.first)) {
      // What it waits for may have come just before its sender went.
      if (look(verb, call.units, failure)) return true;
      if (!failure) failure = why_hopeless(call.units.first);
    }
  }
  if (failure) give_up(*failure);
  return false;
}

WordPlan::Failure WordPlan::why_hopeless(std::uint32_t unit) const noexcept {
  const peer::WhyClosed why = port().why_closed();
  const int peer = units_->peer();
  if (why != peer::WhyClosed::open)
    return error_of(
        unit,
        plan::peer_closed_error(
            why == peer::WhyClosed::freed ? ErrorKind::peer_freed : ErrorKind::transport, peer));
  if (!units_->peer_dead()) return std::nullopt;
  const Epoch message =
      sends() ? puts_[unit].put.load(relaxed) : takes_[unit].taken.load(relaxed) + 1;
  return error_of(unit, plan::dead_error(peer, message));
}

Error WordPlan::error_of(std::uint32_t unit, const Error& why) const noexcept {
  return base::error_by(why.kind(), [&] { return fmt::format("{}: {}", text(unit), why.text()); });
}

std::optional<Error> WordPlan::misuse(Verb verb, const Call& call) const noexcept {
  for (std::uint32_t unit = call.units.first; unit < call.units.end(); ++unit) {
    const auto error = [&](ErrorKind kind, const char* what) {
      return base::error_by(kind, [&] { return text(unit) + what; });
    };
    if (verb == Verb::put && puts_[unit].put.load(relaxed) != puts_[unit].waited.load(relaxed))
      return error(ErrorKind::already_started, put_over_put);
    if (verb != Verb::wait && verb != Verb::release) continue;
    const bool held = takes_[unit].taken.load(relaxed) != takes_[unit].released.load(relaxed);
    if (verb == Verb::wait && held) return error(ErrorKind::already_started, wait_over_wait);
    if (verb == Verb::release && !held) return error(ErrorKind::not_started, release_of_nothing);
  }
  return std::nullopt;
}

// A unit that is held is here, too.
bool WordPlan::test(UnitRange units) {
  if (const Error* const why = failure()) throw Error(*why);
  Port port = this->port();
  std::uint32_t unit = units.first;
  const std::uint32_t end = units.end();
  const auto all_are_here = [&] {
    for (; unit < end; ++unit) {
      const Epoch released = takes_[unit].released.load(relaxed);
      const segment::TakeState state{takes_[unit].taken.load(relaxed)};
      if (state.taken == released && !segment::has_arrived(port, unit, state)) return false;
    }
    return true;
  };
  if (all_are_here()) return true;
  const auto hopeless = why_hopeless(unit);
  if (!hopeless) return false;
  if (all_are_here()) return true;
  throw Error(*hopeless);
}

// ---- Ends

void WordPlan::tell_given_up() noexcept {
  Port port = this->port();
  segment::close(port);
}

// The source of a put is read by the put and put_wait that name it alone. Of several streams that
// wait here at once one looks how long that lasts.
bool WordPlan::untouched(const Call&) noexcept {
  if (sends()) return true;
  Port port = this->port();
  if (segment::is_untouched(port)) return true;
  if (asks_.test_and_set(std::memory_order_acquire)) return false;
  const bool left = units_->lasting_copy().is_left_to_peer(label());
  asks_.clear(std::memory_order_release);
  return left;
}

void WordPlan::tell_of_left() const noexcept {
  std::uint32_t left = 0, first = 0;
  for (auto unit = static_cast<std::uint32_t>(puts_.size()); unit-- > 0;) {
    if (puts_[unit].put.load(relaxed) == puts_[unit].sent.load(relaxed)) continue;
    first = unit;
    ++left;
  }
  ChannelPlan::tell_of_left(left, first);
}

bool WordPlan::close_now() noexcept {
  if (!std::exchange(closed_, true) && !failure()) {
    tell_of_left();
    Port port(units_->setup(), peer::WhyClosed::freed);
    segment::close(port);
  }
  if (!untouched({})) return false;
  units_->leave();
  return true;
}

}  // namespace penstock::channel
