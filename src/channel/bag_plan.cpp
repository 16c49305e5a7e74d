// SPDX-License-Identifier: Apache-2.0
#include "channel/bag_plan.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/matched_request.hpp"
#include "core/request_error.hpp"

namespace penstock::channel {

using base::Error;
using base::ErrorKind;
using protocol::Order;
using protocol::bag::Source;

struct BagPlan::Port {
  using Entry = BagEntry;
  BagPlan& bag;
  std::uint64_t closed = given_up;

  Source sources() const noexcept { return static_cast<Source>(bag.lanes_.size()); }
  template <Order order>
  Number load_head(Source source) const noexcept {
    return bag.taken_lanes_[source]->load_head<order>();
  }
  template <Order order>
  BagEntry load_entry(Source source, Number number) const noexcept {
    return bag.taken_lanes_[source]->load_entry<order>(number);
  }
  template <Order order>
  Number load_claimed(Source source) const noexcept {
    return bag.taken_lanes_[source]->load_claimed<order>();
  }
  bool claim(Source source, Number& number) const noexcept {
    return bag.taken_lanes_[source]->claim(number);
  }
  template <Order order>
  Source load_next() const noexcept {
    return bag.next_.load(order);
  }
  template <Order order>
  void store_next(Source source) const noexcept {
    bag.next_.store(source, order);
  }
  template <Order order>
  void store_released(Source source, Slot slot, Number number) const noexcept {
    bag.taken_lanes_[source]->store_released<order>(slot, number);
  }
  // Of what is matched: these come before all is, too.
  template <Order order>
  void store_closed(Source source) const noexcept {
    if (BagLane* const lane = bag.find_lane(source)) lane->store_closed<order>(closed);
  }
  template <Order order>
  std::uint64_t load_writing(Source source) const noexcept {
    BagLane* const lane = bag.find_lane(source);
    return lane ? lane->load_writing<order>() : 0;
  }
  template <Order order>
  void fence() const noexcept {
    std::atomic_thread_fence(order);
  }
};

BagPlan::BagPlan(const BagShape& shape, std::span<core::MatchedRequest* const> lanes,
                 std::span<const int> ranks)
    : shape_(shape), lanes_(lanes), ranks_(ranks) {}

// One queue's call takes them, and those of others at the same time wait for it.
void BagPlan::take_lanes() {
  for (const core::MatchedRequest* const lane : lanes_)
    if (!lane->matched())
      throw core::RequestError(*lane, ErrorKind::not_matched, core::not_matched_text);
  std::call_once(lanes_taken_, [this] {
    taken_lanes_.reserve(lanes_.size());  // all or, without memory, none
    for (core::MatchedRequest* const lane : lanes_)
      taken_lanes_.push_back(static_cast<BagLane*>(lane->plan()));
    has_lanes_.store(true, std::memory_order_release);
  });
}

BagLane* BagPlan::find_lane(std::size_t source) const noexcept {
  core::MatchedRequest& request = *lanes_[source];
  return request.matched() ? static_cast<BagLane*>(request.plan()) : nullptr;
}

std::string BagPlan::path() const {
  return fmt::format("peer (a bag of {} sources)", lanes_.size());
}

// ---- On the workers of streams

bool BagPlan::grab_step(device::host::Command& command) noexcept {
  static_assert(protocol::bag::ReceiverPort<Port>);
  BagUser& user = user_of(command);
  auto& bag = static_cast<BagPlan&>(user.half());
  auto& grabbed = *static_cast<Grabbed*>(command.context);
  if (user.begins()) grabbed = {};  // what later work finds if nothing comes
  return bag.wait_step(user, [&] { return bag.try_grab(grabbed); });
}

bool BagPlan::try_grab(Grabbed& grabbed) noexcept {
  Port port{*this};
  protocol::bag::Taken<BagEntry> taken;
  if (!protocol::bag::grab(port, taken)) return false;
  taken_lanes_[taken.source]->take(taken.number, taken.entry);
  grabbed = {static_cast<int>(taken.source * shape_.slots + taken.entry.slot), ranks_[taken.source],
             taken.entry.count};
  return true;
}

bool BagPlan::release_step(device::host::Command& command) noexcept {
  const BagUser& user = user_of(command);
  auto& bag = static_cast<BagPlan&>(user.half());
  if (user.queue().failed()) bag.give_up(*user.queue().error());
  if (!bag.failure()) bag.release(*static_cast<const Grabbed*>(command.context));
  if (const Error* const failure = bag.failure()) user.queue().fail(*failure);
  return true;
}

void BagPlan::release(const Grabbed& grabbed) noexcept {
  const auto all = static_cast<std::int64_t>(lanes_.size()) * shape_.slots;
  const bool valid = grabbed.slot >= 0 && grabbed.slot < all;
  const auto place = static_cast<std::uint32_t>(valid ? grabbed.slot : 0);
  const Source source = place / shape_.slots;
  const Number number = valid ? taken_lanes_[source]->let_go(place % shape_.slots) : 0;
  if (number == 0)
    return give_up(base::error_by(ErrorKind::not_started, [&] {
      return valid ? fmt::format("slot {} has no message that was grabbed and not released",
                                 grabbed.slot)
                   : fmt::format("there is no slot {} to release: the bag has {}, from 0 on",
                                 grabbed.slot, all);
    }));
  Port port{*this};
  protocol::bag::release(port, source, place % shape_.slots, number);
}

// ---- Failures and the end

std::string BagPlan::missing() const {
  std::string sources;
  for (std::size_t source = 0; source < lanes_.size(); ++source) {
    sources += fmt::format("{}rank {}", source == 0 ? "" : ", ", ranks_[source]);
    const BagLane* const lane = find_lane(source);
    if (!lane) continue;
    sources += fmt::format(" ({} put", lane->load_head<Order::relaxed>());
    sources += lane->source_is_dead() ? ", ended)" : lane->source_has_closed() ? ", closed)" : ")";
  }
  return "a grab, which waits for a message of " + sources;
}

std::optional<Error> BagPlan::hopeless() const {
  bool all_closed = true;
  for (std::size_t source = 0; source < lanes_.size(); ++source) {
    if (taken_lanes_[source]->source_is_dead())
      return Error(ErrorKind::peer_dead,
                   fmt::format("rank {} of its sources has ended, and no message is left: see its "
                               "output",
                               ranks_[source]));
    all_closed = all_closed && taken_lanes_[source]->source_has_closed();
  }
  if (!all_closed) return std::nullopt;
  return Error(ErrorKind::peer_freed,
               fmt::format("no message is left, and none can come: {} freed, given up after an "
                           "error, which its log tells, or ended by MPI_Finalize: grab as many "
                           "messages as are put",
                           ranks_.size() == 1
                               ? fmt::format("the end of rank {} is", ranks_.front())
                               : fmt::format("the ends of all {} sources are", ranks_.size())));
}

void BagPlan::tell(std::uint64_t closed) noexcept {
  Port port{*this, closed};
  protocol::bag::close(port);
}

// WRITING lies at the sources, which give it up when they have heard that this end is gone.
bool BagPlan::close_now() noexcept {
  if (!std::exchange(closed_, true)) tell(given_up);
  Port port{*this};
  if (!protocol::bag::is_untouched(port)) return false;
  tell(gone);
  return true;
}

}  // namespace penstock::channel
