// SPDX-License-Identifier: Apache-2.0
#include "channel/cell_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace penstock::channel {

using base::Error;
using base::ErrorKind;

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
    if (!plan_.failure() || !cell_.try_take()) return;
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

CellPlan::CellPlan(const Grid& grid, bool sends) : ChannelPlan(grid, sends) {
  cells_.reserve(grid.units());
}

void CellPlan::matched() noexcept {
  if (sends()) return;
  for (const auto& cell : cells_) cell->start();
}

void CellPlan::set_label(std::string label) {
  for (std::size_t unit = 0; unit < cells_.size(); ++unit)
    cells_[unit]->plan().set_label(grid().text(unit) + " of " + label);
  Plan::set_label(std::move(label));
}

std::string CellPlan::path() const {
  const std::string cells = fmt::format("a channel of {} cells", cells_.size());
  return cells_.empty() ? cells : cells + " over " + cells_.front()->plan().path();
}

bool CellPlan::test(UnitRange units) {
  bool all = true;
  for (std::uint32_t unit = units.first; unit < units.end(); ++unit) {
    Cell& cell = *cells_[unit];
    const Taken taken(*this, cell);
    if (!taken || !cell.advance()) all = false;
    if (taken && cell.failure()) throw Error(*cell.failure());
  }
  if (const Error* const failure = this->failure()) throw Error(*failure);
  return all;
}

bool CellPlan::advance_all(Verb verb, Call& call, LastingWait&, transport::Sink& sink) noexcept {
  std::optional<Error> failure;
  Cell* blocked = nullptr;
  bool told = false;
  for (std::uint32_t unit = call.units.first, end = call.units.end(); unit < end && !failure;
       ++unit) {
    Cell& cell = *cells_[unit];
    const Taken taken(*this, cell);
    if (!taken && (verb == Verb::put || verb == Verb::release)) break;  // none is started twice
    const bool ended = taken && work(verb, cell);
    // The next wait tells what has become of a release: the other end may have put all that it has
    // and be gone.
    if (taken && verb != Verb::release && cell.failure()) failure = *cell.failure();
    if (ended && unit == call.units.first) call.units.pass_first();
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

std::optional<Error> CellPlan::misuse(Verb verb, const Call& call) const noexcept {
  for (std::uint32_t unit = call.units.first; unit < call.units.end(); ++unit) {
    const Stage stage = cells_[unit]->stage();
    const auto error = [&](ErrorKind kind, const char* text) {
      return base::error_by(kind, [&] { return this->text(unit) + text; });
    };
    if (verb == Verb::put && stage != Stage::open)
      return error(ErrorKind::already_started, put_over_put);
    if (verb == Verb::wait && stage == Stage::held)
      return error(ErrorKind::already_started, wait_over_wait);
    if (verb == Verb::release && stage != Stage::held)
      return error(ErrorKind::not_started, release_of_nothing);
  }
  return std::nullopt;
}

// The other end hears of it by each cell. Those that are being worked at are given up by who does.
void CellPlan::tell_given_up() noexcept {
  for (const auto& cell : cells_) {
    if (!cell->try_take()) continue;
    cell->give_up();
    cell->give_back();
  }
}

bool CellPlan::untouched(const Call& call) noexcept {
  bool all = true;
  for (std::uint32_t unit = call.units.first; unit < call.units.end(); ++unit) {
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

// What has been sent, and nobody has asked for since, is not left.
void CellPlan::tell_of_left() noexcept {
  std::uint32_t left = 0, first = 0;
  for (auto unit = static_cast<std::uint32_t>(cells_.size()); unit-- > 0;) {
    Cell& cell = *cells_[unit];
    const Taken taken(*this, cell);
    if (!taken || cell.advance()) continue;
    first = unit;
    ++left;
  }
  ChannelPlan::tell_of_left(left, first);
}

bool CellPlan::close_now() noexcept {
  if (!std::exchange(closed_, true) && sends() && !failure()) tell_of_left();
  bool all = true;
  for (const auto& cell : cells_)
    if (!cell->close()) all = false;
  return all;
}

}  // namespace penstock::channel
