// SPDX-License-Identifier: Apache-2.0
// Defects, planted by ports that do something else than the protocol asks for. The protocol's code
// itself is untouched. A port lives for one run of a call.
#pragma once

#include <utility>

#include "protocol/explorer/port.hpp"

namespace penstock::explorer::defects {

// The claim by flags without its fences, and with relaxed stores and loads; or one of both.
template <bool keeps_fence, bool keeps_orders>
struct Handshake : ModelPort {
  using ModelPort::ModelPort;
  std::uint64_t load(Word word, Order order) override {
    if (order == Order::seq_cst && !keeps_orders)
      return ModelPort::load(word, Order::relaxed);
    else
      return ModelPort::load(word, order);
  }
  void store(Word word, Order order, std::uint64_t value) override {
    if (order == Order::seq_cst && !keeps_orders)
      ModelPort::store(word, Order::relaxed, value);
    else
      ModelPort::store(word, order, value);
  }
  void fence(Order order) override {
    if (keeps_fence) ModelPort::fence(order);
  }
};

// A line's flag is stored before its data, and DONE before the payload.
struct FlagBeforeData : ModelPort {
  using ModelPort::ModelPort;
  void fill(unsigned, std::uint32_t) override {}
  void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) override {
    ModelPort::store_flag(slot, line, flag);
    ModelPort::fill(slot, line);
  }
  void push() override {}
  void store(Word word, Order order, std::uint64_t value) override {
    ModelPort::store(word, order, value);
    if (word == Word::done) ModelPort::push();
  }
};

// Whoever wants to copy an epoch believes that it may.
struct NoClaim : ModelPort {
  using ModelPort::ModelPort;
  std::uint64_t exchange(Word, std::uint64_t value) override { return value - 1; }
  std::uint64_t load(Word word, Order order) override {
    return order == Order::seq_cst ? 0 : ModelPort::load(word, order);
  }
};

// A store that gets lost.
template <Word lost>
struct Lost : ModelPort {
  using ModelPort::ModelPort;
  void store(Word word, Order order, std::uint64_t value) override {
    if (word != lost) ModelPort::store(word, order, value);
  }
};

// Flags that cannot tell an epoch from the one before it in the same slot.
struct NarrowEpoch : ModelPort {
  using ModelPort::ModelPort;
  unsigned flag_bits() const override { return 1; }
};

template <unsigned count>
struct TooFewSlots : ModelPort {
  using ModelPort::ModelPort;
  unsigned slots() const override { return count; }
};

// FIN of another epoch than the one that the protocol stores it of.
template <int later>
struct ShiftedFin : ModelPort {
  using ModelPort::ModelPort;
  void store(Word word, Order order, std::uint64_t value) override {
    const auto shifted = static_cast<std::int64_t>(value) + later;
    ModelPort::store(
        word, order,
        word != Word::fin ? value : static_cast<std::uint64_t>(shifted < 0 ? 0 : shifted));
  }
};

// The start of a deferred send takes the slot for free.
struct NotSettled : ModelPort {
  using ModelPort::ModelPort;
  std::uint64_t load(Word word, Order order) override {
    return word == Word::fin ? ~std::uint64_t{0} / 2 : ModelPort::load(word, order);
  }
};

// What the end of a kernel does for a relaxed FIN of the next one.
struct RelaxedFinAfterAFence : ModelPort {
  using ModelPort::ModelPort;
  void store(Word word, Order order, std::uint64_t value) override {
    if (word == Word::fin) ModelPort::fence(Order::seq_cst);
    ModelPort::store(word, word == Word::fin ? Order::relaxed : order, value);
  }
};

// The store, or the load, of one word made relaxed.
template <Word weak>
struct RelaxedStore : ModelPort {
  using ModelPort::ModelPort;
  void store(Word word, Order order, std::uint64_t value) override {
    if (word == weak)
      ModelPort::store(word, Order::relaxed, value);
    else
      ModelPort::store(word, order, value);
  }
};

template <Word weak>
struct RelaxedLoad : ModelPort {
  using ModelPort::ModelPort;
  std::uint64_t load(Word word, Order order) override {
    if (word == weak) return ModelPort::load(word, Order::relaxed);
    return ModelPort::load(word, order);
  }
};

// Only the answer of the receiver that gave way, which is stored with release, and its look-up by
// the waiting sender.
struct RelaxedAnswer : ModelPort {
  using ModelPort::ModelPort;
  void store(Word word, Order order, std::uint64_t value) override {
    if (word == Word::pull && order == Order::release)
      ModelPort::store(word, Order::relaxed, value);
    else
      ModelPort::store(word, order, value);
  }
  std::uint64_t load(Word word, Order order) override {
    if (word == Word::pull && order == Order::acquire) return ModelPort::load(word, Order::relaxed);
    return ModelPort::load(word, order);
  }
};

struct RelaxedClaim : ModelPort {
  using ModelPort::ModelPort;
  std::uint64_t exchange(Word word, std::uint64_t value) override {
    return exchange_with(Order::relaxed, word, value);
  }
};

struct RelaxedFlagStore : ModelPort {
  using ModelPort::ModelPort;
  void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) override {
    store_flag_with(Order::relaxed, slot, line, flag);
  }
};

struct RelaxedFlagLoad : ModelPort {
  using ModelPort::ModelPort;
  std::uint64_t load_flag(unsigned slot, std::uint32_t line) override {
    return load_flag_with(Order::relaxed, slot, line);
  }
};

// Whether this is one of the two words by which a side says that it is gone.
constexpr bool is_closed(Word word) {
  return word == Word::sender_closed || word == Word::receiver_closed;
}

// Who has copied does not look whether the other side is still there. The look is the one after a
// fence.
struct NoLookAfterCopy : ModelPort {
  using ModelPort::ModelPort;
  void fence(Order order) override {
    ModelPort::fence(order);
    fenced_ = true;
  }
  std::uint64_t load(Word word, Order order) override {
    return is_closed(word) && fenced_ ? 0 : ModelPort::load(word, order);
  }

 private:
  bool fenced_ = false;
};

// One of the three fences around CLOSED left out, or weaker, where the claim has none of its own.
enum class FenceOf : std::uint8_t { pusher, puller, closer };

template <FenceOf left_out, bool weaker = false>
struct Unfenced : ModelPort {
  using ModelPort::ModelPort;
  void store(Word word, Order order, std::uint64_t value) override {
    ModelPort::store(word, order, value);
    closes_ = closes_ || is_closed(word);
  }
  void fence(Order order) override {
    const FenceOf of = closes_                   ? FenceOf::closer
                       : order == Order::acquire ? FenceOf::puller
                                                 : FenceOf::pusher;
    if (of != left_out)
      ModelPort::fence(order);
    else if (weaker)
      ModelPort::fence(Order::acquire);
  }

 private:
  bool closes_ = false;
};

// The user learns of the failure, and takes the buffer back, before the peer can.
struct ToldBeforeClosed : ModelPort {
  using ModelPort::ModelPort;
  void store(Word word, Order order, std::uint64_t value) override {
    if (is_closed(word))
      take_buffer_back(word == Word::sender_closed ? Side::sender : Side::receiver);
    ModelPort::store(word, order, value);
  }
};

// A claim is won unless the word holds this very epoch: that of a later one, given up, is not
// understood.
struct OnlyThisEpochClaimed : ModelPort {
  using ModelPort::ModelPort;
  std::uint64_t exchange(Word word, std::uint64_t value) override {
    const std::uint64_t before = ModelPort::exchange(word, value);
    return before > value ? 0 : before;
  }
};

// What a late claim has found, that of a later epoch, is not put back.
struct ClaimNotPutBack : ModelPort {
  using ModelPort::ModelPort;
  std::uint64_t exchange(Word word, std::uint64_t value) override {
    if (std::exchange(claimed_, true)) return 0;
    return ModelPort::exchange(word, value);
  }

 private:
  bool claimed_ = false;
};

// A receiver that has pulled forgets that its sender may be helping.
struct HelpNotRefused : ModelPort {
  using ModelPort::ModelPort;
  bool refuse_help(Epoch) override { return false; }
};

// A copy that failed is announced as if it had been made, and believed.
struct FailureForgotten : ModelPort {
  using ModelPort::ModelPort;
  bool copy_failed() const override { return false; }
};

// Who has offered parts of its copy does not learn that the other side took one.
struct ForgottenPusher : ModelPort {
  using ModelPort::ModelPort;
  bool push_with_help(Epoch epoch) override {
    ModelPort::push_with_help(epoch);
    return false;
  }
};

struct ForgottenPuller : ModelPort {
  using ModelPort::ModelPort;
  bool pull_with_help(Epoch epoch) override {
    ModelPort::pull_with_help(epoch);
    return false;
  }
};

// Who took a part does not say that it has finished.
struct SilentHelper : ModelPort {
  using ModelPort::ModelPort;
  bool help_push(Epoch epoch) override {
    ModelPort::help_push(epoch);
    return false;
  }
  bool help_pull(Epoch epoch) override {
    ModelPort::help_pull(epoch);
    return false;
  }
};

// The word that says which parts are left, stored relaxed by who offers them; or loaded, or
// swapped, relaxed.
struct RelaxedOffer : ModelPort {
  using ModelPort::ModelPort;
  void store_parts(unsigned word, Order, std::uint64_t value) override {
    ModelPort::store_parts(word, Order::relaxed, value);
  }
};

template <bool relaxed_load, bool relaxed_swap>
struct RelaxedParts : ModelPort {
  using ModelPort::ModelPort;
  std::uint64_t load_parts(unsigned word, Order order) override {
    return ModelPort::load_parts(word, relaxed_load ? Order::relaxed : order);
  }
  bool swap_parts(unsigned word, Order order, std::uint64_t* seen, std::uint64_t value) override {
    return ModelPort::swap_parts(word, relaxed_swap ? Order::relaxed : order, seen, value);
  }
};

// A part is taken by a load and a store, as if nobody else could take it in between.
struct NotCompared : ModelPort {
  using ModelPort::ModelPort;
  bool swap_parts(unsigned word, Order order, std::uint64_t* seen, std::uint64_t value) override {
    std::uint64_t unseen = *seen;
    ModelPort::swap_parts(word, order, &unseen, value);
    return true;
  }
};

}  // namespace penstock::explorer::defects
