// SPDX-License-Identifier: Apache-2.0
// MPI's order of matching: a message takes the earliest posted receive that fits it, a receive the
// earliest message. Both with wildcards on the receive's side, and in constant time without them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/recording.hpp"
#include "group/communicator.hpp"

namespace penstock::core {

struct Envelope {
  group::CommunicatorId communicator;
  int source = any_rank;
  int tag = any_tag;
  bool operator==(const Envelope&) const = default;
  bool accepts(const Envelope& message) const noexcept {
    return communicator == message.communicator &&
           (source == any_rank || source == message.source) &&
           (tag == any_tag || tag == message.tag);
  }
};

inline std::size_t hash_of(const group::CommunicatorId& communicator, int rank, int tag) noexcept {
  const auto both = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 32) |
                    static_cast<std::uint32_t>(tag);
  return communicator.low ^ (both * 0x9e3779b97f4a7c15u);
}

struct EnvelopeHash {
  std::size_t operator()(const Envelope& envelope) const noexcept {
    return hash_of(envelope.communicator, envelope.source, envelope.tag);
  }
};

inline Envelope envelope_of(const Recording& recording) {
  return {recording.communicator->id,
          recording.is_send() ? recording.communicator->rank : recording.peer, recording.tag};
}

using EnvelopeCounts = std::unordered_map<Envelope, std::size_t, EnvelopeHash>;  // none is 0

template <class Counts>
void uncount(Counts& counts, const typename Counts::key_type& key) noexcept {
  if (const auto found = counts.find(key); found != counts.end() && --found->second == 0)
    counts.erase(found);
}

// Puts something in the queue of `key`. Where that throws, a queue that was made for it is removed
// again: so no queue in the map is ever empty.
template <class Queues, class Put>
void put_in_queue(Queues& queues, const typename Queues::key_type& key, Put put) {
  const auto place = queues.try_emplace(key).first;
  try {
    put(place->second);
  } catch (...) {
    if (place->second.empty()) queues.erase(place);
    throw;
  }
}

// Receives that wait for a message. Keys may hold wildcards.
template <class Item>
class PostedReceives {
 public:
  using Number = std::uint64_t;

  Number next_number() noexcept { return ++last_; }

  // `number` says how early the receive is; a receive that is put back keeps its number.
  void post(Number number, const Envelope& key, Item item) {
    put_in_queue(queues_, key, [&](auto& queue) {
      const auto earlier = [](Number wanted, const auto& each) { return wanted < each.first; };
      queue.emplace(std::upper_bound(queue.begin(), queue.end(), number, earlier), number,
                    std::move(item));
    });
  }

  // Takes out the earliest receive that accepts the message.
  std::optional<std::pair<Number, Item>> take(const Envelope& message) {
    const std::array<Envelope, 4> keys{message,
                                       Envelope{message.communicator, any_rank, message.tag},
                                       Envelope{message.communicator, message.source, any_tag},
                                       Envelope{message.communicator, any_rank, any_tag}};
    auto earliest = queues_.end();
    for (const Envelope& key : keys) {
      const auto found = queues_.find(key);
      if (found == queues_.end()) continue;
      if (earliest == queues_.end() || found->second.front().first < earliest->second.front().first)
        earliest = found;
    }
    if (earliest == queues_.end()) return std::nullopt;
    auto entry = std::move(earliest->second.front());
    earliest->second.pop_front();
    if (earliest->second.empty()) queues_.erase(earliest);
    return entry;
  }

  // How many receives with this key wait before that number; nothing where one with a wildcard
  // could take their message.
  std::optional<std::size_t> waiting_before(Number number, const Envelope& key) const {
    for (const Envelope& wider : {Envelope{key.communicator, any_rank, key.tag},
                                  Envelope{key.communicator, key.source, any_tag},
                                  Envelope{key.communicator, any_rank, any_tag}})
      if (const auto found = queues_.find(wider);
          found != queues_.end() && found->second.front().first < number)
        return std::nullopt;
    const auto found = queues_.find(key);
    if (found == queues_.end()) return 0;
    const auto& queue = found->second;
    if (queue.back().first < number) return queue.size();
    return static_cast<std::size_t>(std::count_if(
        queue.begin(), queue.end(), [&](const auto& each) { return each.first < number; }));
  }

  // Those with this key behind that number.
  template <class Visit>
  void for_each_behind(Number number, const Envelope& key, Visit&& visit) const {
    const auto found = queues_.find(key);
    if (found == queues_.end()) return;
    for (const auto& [other, item] : found->second)
      if (other > number) visit(item);
  }

  std::optional<Item> withdraw(const Envelope& key, const Item& item) {
    const auto found = queues_.find(key);
    if (found == queues_.end()) return std::nullopt;
    auto& queue = found->second;
    const auto place = std::find_if(queue.begin(), queue.end(),
                                    [&](const auto& each) { return each.second == item; });
    if (place == queue.end()) return std::nullopt;
    Item taken = std::move(place->second);
    queue.erase(place);
    if (queue.empty()) queues_.erase(found);
    return taken;
  }

 private:
  // None of these queues is empty.
  std::unordered_map<Envelope, std::deque<std::pair<Number, Item>>, EnvelopeHash> queues_;
  Number last_ = 0;
};

// Messages that have come before their receive.
template <class Item>
class UnexpectedMessages {
 public:
  using Number = std::uint64_t;

  Number next_number() noexcept { return ++last_; }

  // `number` says how early the message came; one that is put back keeps its number.
  void add(Number number, const Envelope& message, Item item) {
    const auto place = in_order_.emplace(number, std::make_pair(message, std::move(item))).first;
    try {
      put_in_queue(by_envelope_, message, [&](auto& queue) {
        queue.insert(std::upper_bound(queue.begin(), queue.end(), number), number);
      });
    } catch (...) {
      in_order_.erase(place);
      throw;
    }
  }

  // Takes out the earliest message that the key accepts.
  std::optional<Item> take(const Envelope& key) {
    if (key.source != any_rank && key.tag != any_tag) {
      const auto found = by_envelope_.find(key);
      return found == by_envelope_.end() ? std::nullopt
                                         : remove(in_order_.find(found->second.front()));
    }
    for (auto each = in_order_.begin(); each != in_order_.end(); ++each)
      if (key.accepts(each->second.first)) return remove(each);
    return std::nullopt;
  }

  template <class Predicate>
  std::optional<Item> take_if(Predicate&& wanted) {
    for (auto each = in_order_.begin(); each != in_order_.end(); ++each)
      if (wanted(each->second.second)) return remove(each);
    return std::nullopt;
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [number, entry] : in_order_) visit(entry.first, entry.second);
  }

 private:
  using Order = std::map<Number, std::pair<Envelope, Item>>;

  std::optional<Item> remove(typename Order::iterator place) {
    const auto queue = by_envelope_.find(place->second.first);
    queue->second.erase(std::find(queue->second.begin(), queue->second.end(), place->first));
    if (queue->second.empty()) by_envelope_.erase(queue);
    Item item = std::move(place->second.second);
    in_order_.erase(place);
    return item;
  }

  Order in_order_;
  std::unordered_map<Envelope, std::deque<Number>, EnvelopeHash> by_envelope_;  // none is empty
  Number last_ = 0;
};

}  // namespace penstock::core
