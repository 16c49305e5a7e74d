// SPDX-License-Identifier: Apache-2.0
#include "channel/cell_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/backoff.hpp"

namespace penstock::channel {

using base::Error;
using base::ErrorKind;
using device::host::Command;

namespace {

constexpr char use_these_calls[] =
    " is a channel, which PST_Channel_put, PST_Channel_put_wait, PST_Channel_wait and "
    "PST_Channel_release enqueue, not the calls of messages";

device::host::Stream& host_stream(device::Stream& stream) noexcept {
  return static_cast<device::host::Stream&>(stream);
}

}  // namespace

// Has a cell while it lives, if nobody else had. A channel that was given up meanwhile has not
// given up this cell.
class CellPlan::Taken {
 public:
  Taken(const CellPlan& plan, Cell& cell) noexcept
      : plan_(plan), cell_(cell), taken_(cell.try_take()) {}
  ~Taken() {
    if (!taken_) return;
    cell_.give_back();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!plan_.failure_.get() || !cell_.try_take()) return;
    cell_.give_up();
    cell_.give_back();
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  explicit operator bool() const noexcept { return taken_; }

 private:
  const CellPlan& plan_;
  Cell& cell_;
  const bool taken_;
};

// What a command is for, in its one number: it goes on from here when it is called again.
struct CellPlan::Call {
  Units units;
  bool begun = false;

  static constexpr int count_bit = 31, begun_bit = 62;

  static Call from(std::uint64_t value) noexcept {
    constexpr std::uint64_t mask = (std::uint64_t{1} << count_bit) - 1;
    return {{static_cast<std::uint32_t>(value & mask),
             static_cast<std::uint32_t>((value >> count_bit) & mask)},
            (value >> begun_bit) != 0};
  }
  std::uint64_t value() const noexcept {
    return units.first | (std::uint64_t{units.count} << count_bit) |
           (std::uint64_t{begun} << begun_bit);
  }
  std::uint32_t end() const noexcept { return units.first + units.count; }
  void pass_first() noexcept {
    ++units.first;
    --units.count;
  }
};

struct CellPlan::UsedStream {
  std::weak_ptr<device::Stream> stream;
  const device::Stream* address;  // no other stream can have it while there is a weak owner
  UsedStream* next;
  std::shared_ptr<device::Stream> closing{};  // kept until it has its part of the close
};

CellPlan::CellPlan(const Grid& grid, bool sends) : grid_(grid), sends_(sends) {
  cells_.reserve(grid.units());
}

CellPlan::~CellPlan() {
  for (UsedStream* each = streams_.load(std::memory_order_acquire); each;)
    delete std::exchange(each, each->next);
}

void CellPlan::matched() noexcept {
  if (sends_) return;
  for (const auto& cell : cells_) cell->start();
}

void CellPlan::set_label(std::string label) {
  for (std::size_t unit = 0; unit < cells_.size(); ++unit)
    cells_[unit]->plan().set_label(grid_.text(unit) + " of " + label);
  Plan::set_label(std::move(label));
}

std::string CellPlan::path() const {
  const std::string cells = fmt::format("a channel of {} cells", cells_.size());
  return cells_.empty() ? cells : cells + " over " + cells_.front()->plan().path();
}

// ---- Calls

void CellPlan::check_stream(const device::Stream&) const {
  throw Error(ErrorKind::unsupported, label() + use_these_calls);
}

void CellPlan::check(const device::Stream& stream) const {
  if (stream.kind() != device::StreamKind::host)
    throw Error(ErrorKind::unsupported,
                "channels are served on queues over streams of the host alone, of type "
                "PST_QUEUE_HOST");
  if (const Error* const failure = failure_.get())
    throw Error(failure->kind(),
                fmt::format("the channel has been given up: {}: free it, and match a new one on "
                            "both ends",
                            failure->text()));
}

void CellPlan::enqueue(Verb verb, Units units, const std::shared_ptr<device::Stream>& stream,
                       transport::Sink& sink) {
  constexpr std::array steps{&step<Verb::put>, &step<Verb::put_wait>, &step<Verb::wait>,
                             &step<Verb::release>};
  note(stream);
  host_stream(*stream).push(
      {steps[static_cast<std::size_t>(verb)], this, &sink, Call{units}.value()});
}

// Without a lock, as calls on several queues come at once. Mostly the stream is there.
void CellPlan::note(const std::shared_ptr<device::Stream>& stream) {
  UsedStream* first = streams_.load(std::memory_order_acquire);
  for (const UsedStream* each = first; each; each = each->next)
    if (each->address == stream.get()) return;
  auto* const used = new UsedStream{stream, stream.get(), first};
  while (!streams_.compare_exchange_weak(used->next, used, std::memory_order_acq_rel)) continue;
}

bool CellPlan::test(Units units) {
  bool all = true;
  for (std::uint32_t unit = units.first; unit < units.first + units.count; ++unit) {
    Cell& cell = *cells_[unit];
    const Taken taken(*this, cell);
    if (!taken || !cell.advance()) all = false;
    if (taken && cell.failure()) throw Error(*cell.failure());
  }
  if (const Error* const failure = failure_.get()) throw Error(*failure);
  return all;
}

// ---- On the workers of streams

template <Verb verb>
bool CellPlan::step(Command& command) noexcept {
  auto& plan = *static_cast<CellPlan*>(command.object);
  Call call = Call::from(command.value);
  const bool ended = plan.carry_out(verb, call, *static_cast<transport::Sink*>(command.context));
  command.value = call.value();
  return ended;
}

bool CellPlan::carry_out(Verb verb, Call& call, transport::Sink& sink) noexcept {
  // Nothing is sent on after a failure of the queue: it may be stale.
  if (!std::exchange(call.begun, true)) {
    if (sink.failed())
      give_up(*sink.error());
    else if (const auto error = misuse(verb, call))
      give_up(*error);
  }
  if (failure_.get() == nullptr && advance_all(verb, call, sink)) return true;
  return failure_.get() != nullptr && end_given_up(verb, call, sink);
}

// A look at each cell of the call. True: the call has ended.
bool CellPlan::advance_all(Verb verb, Call& call, transport::Sink& sink) noexcept {
  std::optional<Error> failure;
  Cell* blocked = nullptr;
  bool told = false;
  for (std::uint32_t unit = call.units.first, end = call.end(); unit < end && !failure; ++unit) {
    Cell& cell = *cells_[unit];
    const Taken taken(*this, cell);
    if (!taken && (verb == Verb::put || verb == Verb::release)) break;  // none is started twice
    const bool ended = taken && work(verb, cell);
    // The next wait tells what has become of a release: the other end may have put all that it has
    // and be gone.
    if (taken && verb != Verb::release && cell.failure()) failure = *cell.failure();
    if (ended && unit == call.units.first) call.pass_first();
    if (!taken || ended) continue;
    told = told || cell.has_told();
    if (!blocked && cell.wants_to_tell()) blocked = &cell;
    // Only one wait of a queue is in its table.
    if (blocked == &cell && !told) {
      cell.tell(sink);
      told = true;
    }
  }
  if (failure) give_up(*failure);
  return !failure && call.units.count == 0;
}

// True: the verb has nothing left to do at this cell.
bool CellPlan::work(Verb verb, Cell& cell) noexcept {
  switch (verb) {
    case Verb::put:
    case Verb::release:
      cell.start();
      return true;
    case Verb::put_wait:
      return cell.advance();
    case Verb::wait:
      if (!cell.advance()) return false;
      cell.hold();
      return true;
  }
  return true;
}

// By what the stream finds when it gets here.
std::optional<Error> CellPlan::misuse(Verb verb, const Call& call) const noexcept {
  for (std::uint32_t unit = call.units.first; unit < call.end(); ++unit) {
    const Stage stage = cells_[unit]->stage();
    const auto error = [&](ErrorKind kind, const char* text) {
      return base::error_by(kind, [&] { return grid_.text(unit) + " of " + label() + text; });
    };
    if (verb == Verb::put && stage != Stage::open)
      return error(ErrorKind::already_started,
                   " was put before, and has no PST_Channel_put_wait since");
    if (verb == Verb::wait && stage == Stage::held)
      return error(ErrorKind::already_started,
                   " was waited for before, and has no PST_Channel_release since");
    if (verb == Verb::release && stage != Stage::held)
      return error(ErrorKind::not_started, " was not waited for, and cannot be released");
  }
  return std::nullopt;
}

// All units are one channel: the other end hears of it by each. Those that are being worked at are
// given up by who does.
void CellPlan::give_up(const Error& error) noexcept {
  failure_.set(error);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const auto& cell : cells_) {
    if (!cell->try_take()) continue;
    cell->give_up();
    cell->give_back();
  }
}

// The program uses the buffer behind a wait, whatever became of the messages.
bool CellPlan::end_given_up(Verb verb, const Call& call, transport::Sink& sink) noexcept {
  sink.fail(*failure_.get());
  if (verb == Verb::put || verb == Verb::release) return true;
  bool all = true;
  for (std::uint32_t unit = call.units.first; unit < call.end(); ++unit) {
    Cell& cell = *cells_[unit];
    const Taken taken(*this, cell);
    if (taken) cell.give_up();
    if (!taken || !cell.advance()) all = false;
  }
  return all;
}

void CellPlan::cancel_wait(const Error& error) noexcept {
  for (const auto& cell : cells_) cell->plan().cancel_wait(error);
}

// ---- The end

bool CellPlan::close_cells() noexcept {
  bool all = true;
  for (const auto& cell : cells_)
    if (!cell->close()) all = false;
  return all;
}

// By who calls, where no stream is there that looks again: the receives of a match may be under
// way, and the program may use the buffer behind this. Nothing holds up a cell that is given up but
// a copy that another processor has begun.
void CellPlan::close() {
  base::Backoff backoff(std::chrono::microseconds{0});
  while (!close_cells()) backoff.pause();
}

void CellPlan::close(device::Stream&, void (*ended)(void*), void* argument) {
  close_behind_own_streams(ended, argument);
}

// The last of the streams to get there closes all cells.
bool CellPlan::close_step(Command& command) noexcept {
  auto& plan = *static_cast<CellPlan*>(command.object);
  if (std::exchange(command.value, 1) == 0 &&
      plan.streams_left_.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return true;
  if (!plan.close_cells()) return false;
  plan.ended_(plan.argument_);  // last: the plan may be gone when it returns
  return true;
}

bool CellPlan::close_behind_own_streams(void (*ended)(void*), void* argument) noexcept {
  ended_ = ended;
  argument_ = argument;
  UsedStream* const first = streams_.load(std::memory_order_acquire);
  std::uint32_t left = 0;
  for (UsedStream* each = first; each; each = each->next)
    if ((each->closing = each->stream.lock())) ++left;
  streams_left_.store(left, std::memory_order_release);
  // The last stream's part may be done, and the plan be gone, as soon as it is pushed.
  for (UsedStream* each = first; left > 0;) {
    const auto stream = std::move(std::exchange(each, each->next)->closing);
    if (!stream) continue;
    host_stream(*stream).push({&close_step, this, nullptr, 0});
    if (--left == 0) return true;
  }
  close();
  ended(argument);
  return true;
}

}  // namespace penstock::channel
