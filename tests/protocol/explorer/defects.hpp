// SPDX-License-Identifier: Apache-2.0
// Defects, planted by ports that do something else than the protocol asks for. The protocol's code itself is untouched.
#pragma once

#include "protocol/explorer/port.hpp"

namespace penstock::explorer::defects {

// The claim by flags without its fences, and with relaxed stores and loads; or one of both.
template <bool keeps_fence, bool keeps_orders>
struct Handshake {
  template <class Base>
  struct Change : Base {
    using Base::Base;
    template <Order order>
    std::uint64_t load(Word word) {
      if constexpr (order == Order::seq_cst && !keeps_orders)
        return Base::template load<Order::relaxed>(word);
      else
        return Base::template load<order>(word);
    }
    template <Order order>
    void store(Word word, std::uint64_t value) {
      if constexpr (order == Order::seq_cst && !keeps_orders)
        Base::template store<Order::relaxed>(word, value);
      else
        Base::template store<order>(word, value);
    }
    template <Order order>
    void fence() {
      if (keeps_fence) Base::template fence<order>();
    }
  };
};

// A line's flag is stored before its data, and DONE before the payload.
template <class Base>
struct FlagBeforeData : Base {
  using Base::Base;
  void fill(unsigned, std::uint32_t) {}
  void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) {
    Base::store_flag(slot, line, flag);
    Base::fill(slot, line);
  }
  void push() {}
  template <Order order>
  void store(Word word, std::uint64_t value) {
    Base::template store<order>(word, value);
    if (word == Word::done) Base::push();
  }
};

// Whoever wants to copy an epoch believes that it may.
template <class Base>
struct NoClaim : Base {
  using Base::Base;
  std::uint64_t exchange(Word, std::uint64_t value) { return value - 1; }
  template <Order order>
  std::uint64_t load(Word word) {
    return order == Order::seq_cst ? 0 : Base::template load<order>(word);
  }
};

// A store that gets lost.
template <Word lost>
struct Lost {
  template <class Base>
  struct Change : Base {
    using Base::Base;
    template <Order order>
    void store(Word word, std::uint64_t value) {
      if (word != lost) Base::template store<order>(word, value);
    }
  };
};

// Flags that cannot tell an epoch from the one before it in the same slot.
template <class Base>
struct NarrowEpoch : Base {
  using Base::Base;
  unsigned flag_bits() const { return 1; }
};

template <class Base>
struct OneSlot : Base {
  using Base::Base;
  unsigned slots() const { return 1; }
};

// The store, or the load, of one word made relaxed.
template <Word weak>
struct RelaxedStore {
  template <class Base>
  struct Change : Base {
    using Base::Base;
    template <Order order>
    void store(Word word, std::uint64_t value) {
      if (word == weak)
        Base::template store<Order::relaxed>(word, value);
      else
        Base::template store<order>(word, value);
    }
  };
};

template <Word weak>
struct RelaxedLoad {
  template <class Base>
  struct Change : Base {
    using Base::Base;
    template <Order order>
    std::uint64_t load(Word word) {
      if (word == weak) return Base::template load<Order::relaxed>(word);
      return Base::template load<order>(word);
    }
  };
};

// Only the answer of the receiver that gave way, which is stored with release, and its look-up by the waiting sender.
template <class Base>
struct RelaxedAnswer : Base {
  using Base::Base;
  template <Order order>
  void store(Word word, std::uint64_t value) {
    if (word == Word::pull && order == Order::release)
      Base::template store<Order::relaxed>(word, value);
    else
      Base::template store<order>(word, value);
  }
  template <Order order>
  std::uint64_t load(Word word) {
    if (word == Word::pull && order == Order::acquire) return Base::template load<Order::relaxed>(word);
    return Base::template load<order>(word);
  }
};

template <class Base>
struct RelaxedClaim : Base {
  using Base::Base;
  std::uint64_t exchange(Word word, std::uint64_t value) {
    return Base::template exchange_with<Order::relaxed>(word, value);
  }
};

template <class Base>
struct RelaxedFlagStore : Base {
  using Base::Base;
  void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) {
    Base::template store_flag_with<Order::relaxed>(slot, line, flag);
  }
};

template <class Base>
struct RelaxedFlagLoad : Base {
  using Base::Base;
  std::uint64_t load_flag(unsigned slot, std::uint32_t line) {
    return Base::template load_flag_with<Order::relaxed>(slot, line);
  }
};

// Whether this is one of the two words by which a side says that it is gone.
constexpr bool is_closed(Word word) {
  return word == Word::sender_closed || word == Word::receiver_closed;
}

// Who has copied does not look whether the other side is still there. The look is the one after a fence.
template <class Base>
struct NoLookAfterCopy : Base {
  using Base::Base;
  template <Order order>
  void fence() {
    Base::template fence<order>();
    fenced_ = true;
  }
  template <Order order>
  std::uint64_t load(Word word) {
    return is_closed(word) && fenced_ ? 0 : Base::template load<order>(word);
  }

 private:
  bool fenced_ = false;
};

// One of the three fences around CLOSED left out, or weaker, where the claim has none of its own.
enum class FenceOf : std::uint8_t { pusher, puller, closer };

template <FenceOf left_out, bool weaker = false>
struct Unfenced {
  template <class Base>
  struct Change : Base {
    using Base::Base;
    template <Order order>
    void store(Word word, std::uint64_t value) {
      Base::template store<order>(word, value);
      closes_ = closes_ || is_closed(word);
    }
    template <Order order>
    void fence() {
      const FenceOf of = closes_ ? FenceOf::closer : order == Order::acquire ? FenceOf::puller : FenceOf::pusher;
      if (of != left_out)
        Base::template fence<order>();
      else if (weaker)
        Base::template fence<Order::acquire>();
    }

   private:
    bool closes_ = false;
  };
};

// The user learns of the failure, and takes the buffer back, before the peer can.
template <class Base>
struct ToldBeforeClosed : Base {
  using Base::Base;
  template <Order order>
  void store(Word word, std::uint64_t value) {
    if (is_closed(word)) Base::take_buffer_back(word == Word::sender_closed ? Side::sender : Side::receiver);
    Base::template store<order>(word, value);
  }
};

// A claim is won unless the word holds this very epoch: that of a later one, given up, is not understood.
template <class Base>
struct OnlyThisEpochClaimed : Base {
  using Base::Base;
  std::uint64_t exchange(Word word, std::uint64_t value) {
    const std::uint64_t before = Base::exchange(word, value);
    return before > value ? 0 : before;
  }
};

// A copy that failed is announced as if it had been made, and believed.
template <class Base>
struct FailureForgotten : Base {
  using Base::Base;
  bool copy_failed() const { return false; }
};

// Who has offered parts of its copy does not learn that the other side took one.
template <class Base>
struct ForgottenPusher : Base {
  using Base::Base;
  bool push_with_help(Epoch epoch) requires protocol::SharesCopies<Base> {
    Base::push_with_help(epoch);
    return false;
  }
};

template <class Base>
struct ForgottenPuller : Base {
  using Base::Base;
  bool pull_with_help(Epoch epoch) requires protocol::SharesCopies<Base> {
    Base::pull_with_help(epoch);
    return false;
  }
};

// Who took a part does not say that it has finished.
template <class Base>
struct SilentHelper : Base {
  using Base::Base;
  bool help_push(Epoch epoch) requires protocol::SharesCopies<Base> {
    Base::help_push(epoch);
    return false;
  }
  bool help_pull(Epoch epoch) requires protocol::SharesCopies<Base> {
    Base::help_pull(epoch);
    return false;
  }
};

}  // namespace penstock::explorer::defects
