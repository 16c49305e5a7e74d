// SPDX-License-Identifier: Apache-2.0
// The one place where the explorer compiles src/protocol.
#include "protocol/explorer/machine.hpp"

#include <stdexcept>
#include <type_traits>

#include "protocol/rendezvous.hpp"
#include "protocol/ring.hpp"
#include "protocol/window.hpp"

namespace penstock::explorer {

namespace {

using namespace protocol;

// A model port as the templates want it: with what they take from its type.
template <bool exchange_works, bool closes>
class PortOf {
 public:
  static constexpr bool native_atomics = exchange_works;
  static constexpr bool may_close = closes;

  explicit PortOf(ModelPort& port) : port_(port) {}

  template <Order order>
  std::uint64_t load(Word word) {
    return port_.load(word, order);
  }
  template <Order order>
  void store(Word word, std::uint64_t value) {
    port_.store(word, order, value);
  }
  std::uint64_t exchange(Word word, std::uint64_t value) { return port_.exchange(word, value); }
  template <Order order>
  void fence() {
    port_.fence(order);
  }
  void fill(unsigned slot, std::uint32_t line) { port_.fill(slot, line); }
  void drain(unsigned slot, std::uint32_t line) { port_.drain(slot, line); }
  std::uint64_t load_flag(unsigned slot, std::uint32_t line) { return port_.load_flag(slot, line); }
  void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) {
    port_.store_flag(slot, line, flag);
  }
  void push() { port_.push(); }
  void pull() { port_.pull(); }
  bool copy_failed() const { return port_.copy_failed(); }
  unsigned slots() const { return port_.slots(); }
  std::uint32_t lines() const { return port_.lines(); }
  unsigned flag_bits() const { return port_.flag_bits(); }
  bool checks_ready() const { return port_.checks_ready(); }

  window::Head head() const { return port_.head(); }
  window::Promise promise() const { return port_.promise(); }
  window::Head read_head(unsigned slot) { return port_.read_head(slot); }
  bool stored() const { return port_.stored(); }
  void move(std::uint32_t part) { port_.move_part(part); }
  template <Order order>
  void store_part(std::uint32_t part, std::uint64_t value) {
    port_.store_part(part, order, value);
  }
  template <Order order>
  std::uint64_t load_part(std::uint32_t part) {
    return port_.load_part(part, order);
  }

 protected:
  ModelPort& port_;
};

// A ring's kernels do not look at CLOSED: whoever watches over them does, through a port of its
// own.
class DeferredPortOf : public PortOf<true, false> {
 public:
  static constexpr bool deferred = true;
  using PortOf::PortOf;
};

template <bool closes>
class DeferredWindowPortOf : public PortOf<true, closes> {
 public:
  static constexpr bool deferred = true;
  using PortOf<true, closes>::PortOf;
};

template <class Base>
class UntouchedPortOf : public Base {
 public:
  static constexpr bool ends_untouched = true;
  using Base::Base;

  bool refuse_help(Epoch epoch) { return this->port_.refuse_help(epoch); }
};

template <bool exchange_works, bool closes>
class SharingPortOf : public PortOf<exchange_works, closes> {
 public:
  using PortOf<exchange_works, closes>::PortOf;

  bool push_with_help(Epoch epoch) { return this->port_.push_with_help(epoch); }
  bool pull_with_help(Epoch epoch) { return this->port_.pull_with_help(epoch); }
  bool help_push(Epoch epoch) { return this->port_.help_push(epoch); }
  bool help_pull(Epoch epoch) { return this->port_.help_pull(epoch); }
};

template <Side side, class P>
Closing closing_of(void (*give_up)(ModelPort&, Epoch)) {
  return {[](ModelPort& model, Epoch epoch) {
            P port(model);
            return closing::peer_closed<side>(port, epoch);
          },
          [](ModelPort& model, Epoch epoch) {
            P port(model);
            closing::close<side>(port, epoch);
          },
          give_up};
}

template <Side side, class P>
Closing ring_closing() {
  Closing closing = closing_of<side, P>(nullptr);
  closing.give_up = closing.close;
  return closing;
}

template <Mode mode, Side side, class P>
Closing rendezvous_closing() {
  return closing_of<side, P>([](ModelPort& model, Epoch epoch) {
    P port(model);
    rendezvous::poison<mode, side>(port, epoch);
  });
}

template <Mode mode, class P>
Machine ring_machine() {
  static_assert(Port<P>);
  using Watcher = std::conditional_t<Deferred<P>, PortOf<true, true>, P>;
  return {[](ModelPort& model, SenderState& state) {
            P port(model);
            return ring::settle_send<mode>(port, state);
          },
          [](ModelPort& model, SenderState& state) {
            P port(model);
            return ring::start_send<mode>(port, state);
          },
          [](ModelPort& model, SenderState& state) {
            P port(model);
            return ring::wait_send<mode>(port, state);
          },
          [](ModelPort& model, ReceiverState& state) {
            P port(model);
            ring::start_receive<mode>(port, state);
          },
          [](ModelPort& model, ReceiverState& state) {
            P port(model);
            return ring::wait_receive(port, state);
          },
          {ring_closing<Side::sender, Watcher>(), ring_closing<Side::receiver, Watcher>()},
          ring::send_has_wait(mode, Deferred<P>)};
}

template <Mode mode, class P>
Machine rendezvous_machine() {
  static_assert(Port<P>);
  return {
      [](ModelPort&, SenderState&) { return Progress::ended; },
      [](ModelPort& model, SenderState& state) {
        P port(model);
        return rendezvous::start_send<mode>(port, state);
      },
      [](ModelPort& model, SenderState& state) {
        P port(model);
        return rendezvous::wait_send<mode>(port, state);
      },
      [](ModelPort& model, ReceiverState& state) {
        P port(model);
        rendezvous::start_receive<mode>(port, state);
      },
      [](ModelPort& model, ReceiverState& state) {
        P port(model);
        return rendezvous::wait_receive<mode>(port, state);
      },
      {rendezvous_closing<mode, Side::sender, P>(), rendezvous_closing<mode, Side::receiver, P>()}};
}

template <Mode mode, class P>
Machine untouched_machine() {
  static_assert(EndsUntouched<P>);
  Machine machine = rendezvous_machine<mode, P>();
  machine.give_up_receive = [](ModelPort& model, ReceiverState& state) {
    P port(model);
    rendezvous::give_up_receive(port, state);
  };
  machine.is_untouched = [](ModelPort& model, ReceiverState& state) {
    P port(model);
    return rendezvous::is_untouched(port, state);
  };
  return machine;
}

// A complete is a start, which only sees whether the target still serves, and a wait.
template <class P>
Machine window_machine() {
  static_assert(window::MovesOperations<P>);
  return {[](ModelPort&, SenderState&) { return Progress::ended; },
          [](ModelPort& model, SenderState& state) {
            P port(model);
            return window::begin_complete(port, state);
          },
          [](ModelPort& model, SenderState& state) {
            P port(model);
            if (port.stored() && !state.stored) {
              if (window::open(port, state) != Progress::ended) return Progress::pending;
              for (std::uint32_t line = 1; line < port.lines(); ++line) port.move(line - 1);
              state.stored = true;
            }
            const Progress progress = window::complete(port, state);
            if (progress == Progress::ended) state.stored = false;
            return progress;
          },
          [](ModelPort& model, ReceiverState& state) {
            P port(model);
            if (port.promise() != window::Promise::taken) window::post(port, state);
          },
          [](ModelPort& model, ReceiverState& state) {
            P port(model);
            const bool left = port.promise() == window::Promise::taken && !state.posted;
            if (left) window::post(port, state);
            state.posted = state.posted || left;
            const Progress progress = window::wait(port, state);
            if (progress == Progress::ended) state.posted = false;
            return progress;
          },
          {ring_closing<Side::sender, P>(), ring_closing<Side::receiver, P>()}};
}

template <class P>
Machine ring_over(Mode mode) {
  switch (mode) {
    case Mode::synchronous:
      return ring_machine<Mode::synchronous, P>();
    case Mode::ready:
      return ring_machine<Mode::ready, P>();
    case Mode::buffered:
      if constexpr (Deferred<P>)
        throw std::logic_error("a buffered send must not be held up");
      else
        return ring_machine<Mode::buffered, P>();
    case Mode::standard:
      break;
  }
  return ring_machine<Mode::standard, P>();
}

// The ends have ports of their own there, too.
Machine ring_whose_send_waits(Mode mode) {
  Machine machine = ring_over<DeferredPortOf>(mode);
  const Machine sender = ring_over<PortOf<true, false>>(mode);
  machine.settle_send = sender.settle_send;
  machine.start_send = sender.start_send;
  machine.wait_send = sender.wait_send;
  machine.send_has_wait = sender.send_has_wait;
  return machine;
}

template <class P>
Machine rendezvous_over(Mode mode) {
  switch (mode) {
    case Mode::synchronous:
      return rendezvous_machine<Mode::synchronous, P>();
    case Mode::ready:
      return rendezvous_machine<Mode::ready, P>();
    case Mode::buffered:
      throw std::logic_error("large buffered sends have no machine: they use a ring of their own");
    case Mode::standard:
      break;
  }
  return rendezvous_machine<Mode::standard, P>();
}

template <class P>
Machine untouched_over(Mode mode) {
  return mode == Mode::ready ? untouched_machine<Mode::ready, P>()
                             : untouched_machine<Mode::standard, P>();
}

template <bool closes>
Machine machine_that(const PairSpec& spec) {
  const bool exchange = spec.claim == ClaimBy::exchange;
  if (spec.path == Path::window)
    return spec.deferred ? window_machine<DeferredWindowPortOf<closes>>()
                         : window_machine<PortOf<true, closes>>();
  if (spec.send_waits) return ring_whose_send_waits(spec.mode);
  if (spec.deferred) return ring_over<DeferredPortOf>(spec.mode);
  if (spec.path == Path::ring) return ring_over<PortOf<true, closes>>(spec.mode);
  if (spec.untouched)
    return spec.shares ? untouched_over<UntouchedPortOf<SharingPortOf<true, true>>>(spec.mode)
                       : untouched_over<UntouchedPortOf<PortOf<true, true>>>(spec.mode);
  if (spec.shares)
    return exchange ? rendezvous_over<SharingPortOf<true, closes>>(spec.mode)
                    : rendezvous_over<SharingPortOf<false, closes>>(spec.mode);
  return exchange ? rendezvous_over<PortOf<true, closes>>(spec.mode)
                  : rendezvous_over<PortOf<false, closes>>(spec.mode);
}

}  // namespace

Machine machine_for(const PairSpec& spec) {
  return spec.may_close ? machine_that<true>(spec) : machine_that<false>(spec);
}

}  // namespace penstock::explorer
