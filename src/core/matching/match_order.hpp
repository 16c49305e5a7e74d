// SPDX-License-Identifier: Apache-2.0
// MPI's order of matching: a message takes the earliest posted receive that fits it, a receive the
// earliest message. Both with wildcards on the receive's side. However many wait, no step looks at
// more of them than it takes, but for those that are in each other's way.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <set>
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
    put_in_queue(queues_, key,
                 [&](auto& queue) { queue.emplace_hint(queue.end(), number, std::move(item)); });
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
      if (earliest == queues_.end() ||
          found->second.begin()->first < earliest->second.begin()->first)
        earliest = found;
    }
    if (earliest == queues_.end()) return std::nullopt;
    const auto first = earliest->second.begin();
    std::pair<Number, Item> entry(first->first, std::move(first->second));
    remove(earliest, first);
    return entry;
  }

  // How many receives with this key wait before that number; nothing where one with a wildcard
  // could take their message.
  std::optional<std::size_t> waiting_before(Number number, const Envelope& key) const {
    for (const Envelope& wider : {Envelope{key.communicator, any_rank, key.tag},
                                  Envelope{key.communicator, key.source, any_tag},
                                  Envelope{key.communicator, any_rank, any_tag}})
      if (const auto found = queues_.find(wider);
          found != queues_.end() && found->second.begin()->first < number)
        return std::nullopt;
    const auto found = queues_.find(key);
    if (found == queues_.end()) return 0;
    const auto& queue = found->second;
    if (queue.rbegin()->first < number) return queue.size();
    return static_cast<std::size_t>(std::distance(queue.begin(), queue.lower_bound(number)));
  }

  // Those with this key behind that number, until visit() says false.
  template <class Visit>
  void for_each_behind(Number number, const Envelope& key, Visit&& visit) const {
    const auto found = queues_.find(key);
    if (found == queues_.end()) return;
    const auto& queue = found->second;
    for (auto each = queue.upper_bound(number); each != queue.end(); ++each)
      if (!visit(each->second)) return;
  }

  std::optional<Item> withdraw(const Envelope& key, Number number) {
    const auto found = queues_.find(key);
    if (found == queues_.end()) return std::nullopt;
    const auto place = found->second.find(number);
    if (place == found->second.end()) return std::nullopt;
    Item taken = std::move(place->second);
    remove(found, place);
    return taken;
  }

  // The same where its number is not known.
  std::optional<Item> withdraw(const Envelope& key, const Item& item) {
    const auto found = queues_.find(key);
    if (found == queues_.end()) return std::nullopt;
    for (const auto& [number, posted] : found->second)
      if (posted == item) return withdraw(key, number);
    return std::nullopt;
  }

 private:
  using Queue = std::map<Number, Item>;
  using Queues = std::unordered_map<Envelope, Queue, EnvelopeHash>;

  void remove(typename Queues::iterator queue, typename Queue::iterator place) {
    queue->second.erase(place);
    if (queue->second.empty()) queues_.erase(queue);
  }

  Queues queues_;  // none is empty
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
      enter(number, message);
    } catch (...) {
      in_order_.erase(place);
      throw;
    }
  }

  // Takes out the earliest message that the key accepts.
  std::optional<Item> take(const Envelope& key) {
    const bool wide = key.source == any_rank || key.tag == any_tag;
    if (wide && !knows_wildcards() && !learn_wildcards()) return take_from_front(key);
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? std::nullopt : remove(in_order_.find(*found->second.begin()));
  }
  std::optional<Item> take(Number number) {
    const auto place = in_order_.find(number);
    return place == in_order_.end() ? std::nullopt : remove(place);
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [number, entry] : in_order_) visit(entry.first, entry.second);
  }

 private:
  using Order = std::map<Number, std::pair<Envelope, Item>>;

  // Those by which a message is found: its own, and behind it those with wildcards.
  static std::array<Envelope, 4> keys_of(const Envelope& message) {
    return {message, Envelope{message.communicator, any_rank, message.tag},
            Envelope{message.communicator, message.source, any_tag},
            Envelope{message.communicator, any_rank, any_tag}};
  }
  bool knows_wildcards() const noexcept { return keys_ > 1; }

  void enter(Number number, const Envelope& message, std::size_t first = 0) {
    const auto keys = keys_of(message);
    for (std::size_t i = first; i < keys_; ++i) {
      try {
        put_in_queue(by_key_, keys[i], [&](auto& numbers) { numbers.insert(number); });
      } catch (...) {
        while (i-- > first) leave(number, keys[i]);
        throw;
      }
    }
  }
  void leave(Number number, const Envelope& key) noexcept {
    const auto found = by_key_.find(key);
    found->second.erase(number);
    if (found->second.empty()) by_key_.erase(found);
  }

  // From the first receive with a wildcard on; programs without one need not pay for them. False:
  // there is no memory.
  bool learn_wildcards() noexcept {
    auto next = in_order_.begin();
    keys_ = 4;
    try {
      for (; next != in_order_.end(); ++next) enter(next->first, next->second.first, 1);
      return true;
    } catch (const std::bad_alloc&) {
      while (next != in_order_.begin()) {
        --next;
        const auto keys = keys_of(next->second.first);
        for (std::size_t i = 1; i < keys_; ++i) leave(next->first, keys[i]);
      }
      keys_ = 1;
      return false;
    }
  }

  std::optional<Item> take_from_front(const Envelope& key) {
    for (auto each = in_order_.begin(); each != in_order_.end(); ++each)
      if (key.accepts(each->second.first)) return remove(each);
    return std::nullopt;
  }

  std::optional<Item> remove(typename Order::iterator place) {
    const auto keys = keys_of(place->second.first);
    for (std::size_t i = 0; i < keys_; ++i) leave(place->first, keys[i]);
    Item item = std::move(place->second.second);
    in_order_.erase(place);
    return item;
  }

  Order in_order_;
  std::unordered_map<Envelope, std::set<Number>, EnvelopeHash> by_key_;  // none is empty
  std::size_t keys_ = 1;  // of a message, by which it is found
  Number last_ = 0;
};

}  // namespace penstock::core
