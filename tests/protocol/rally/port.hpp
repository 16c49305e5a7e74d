// SPDX-License-Identifier: Apache-2.0
// The port of a thread of the model to one flight, with what is planted in it.
#pragma once

#include "protocol/rally.hpp"
#include "protocol/rally/state.hpp"

namespace penstock::explorer::rallies {

class Port {
 public:
  static constexpr bool may_close = true;

  // For the epoch that the thread's start sends, or its wait takes.
  Port(const Scenario& scenario, State& state, Replay& hands, unsigned flight)
      : scenario_(scenario),
        places_(scenario),
        memory_(state.memory),
        hands_(hands),
        actor_(state.actors[hands.thread]),
        flight_(flight),
        epoch_(actor_.done + 1u) {}

  Epoch epoch() const { return epoch_; }
  void set_epoch(Epoch epoch) { epoch_ = epoch; }

  unsigned members() const { return scenario_.members; }
  unsigned me() const { return hands_.thread / scenario_.blocks; }
  unsigned flag_bits() const { return scenario_.flag_bits; }
  std::uint32_t lines_to(unsigned member) const { return lines(me(), member); }
  std::uint32_t lines_from(unsigned member) const { return lines(member, me()); }
  std::uint32_t most_lines() const { return scenario_.blocks > 1 ? 1 : places_.lines(); }

  void fill(unsigned to, unsigned slot, std::uint32_t line) {
    if (!is(Defect::flag_first)) write(to, slot, line);
  }
  void store_flag(unsigned to, unsigned slot, std::uint32_t line, std::uint64_t flag) {
    const bool in_cell = scenario_.form == Form::cells;
    const Order order = in_cell || is(Defect::flag_relaxed) ? Order::relaxed : Order::release;
    const auto data = in_cell ? to_send(to, line) << flag_bits() : 0u;
    hands_.store(place(to, me(), slot, line), order, data | static_cast<unsigned>(flag), names[to]);
    if (is(Defect::flag_first)) write(to, slot, line);
  }
  std::uint64_t load_flag(unsigned from, unsigned slot, std::uint32_t line) {
    const bool in_cell = scenario_.form == Form::cells;
    const Order order = in_cell || is(Defect::look_relaxed) ? Order::relaxed : Order::acquire;
    const Value value = hands_.load(place(me(), from, slot, line), order, names[from]);
    cell_data_[from] = static_cast<Value>(value >> flag_bits());
    const std::uint64_t flag = protocol::line_flag(value, flag_bits());
    const std::uint64_t awaited = protocol::line_flag(epoch_, flag_bits());
    return is(Defect::parity_only) && flag % 2 == awaited % 2 ? awaited : flag;
  }
  void take(unsigned from, unsigned slot, std::uint32_t line) {
    if (is(Defect::own_first) && from == 0) add(me(), line);
    if (number(line) >= scenario_.lines[from][me()]) return;  // nothing but the flag
    if (from != me() && !is(Defect::taken_late)) read(from, slot, line);
    if (!is(Defect::own_first) || from != me()) add(from, line);
  }
  // What has come: compared with what should have.
  void read(unsigned from, unsigned slot, std::uint32_t line) {
    Value value = cell_data_[from];
    if (!hands_.live()) return;
    if (scenario_.form == Form::lines &&
        !memory_.read_cell(hands_.thread, place(me(), from, slot, line), &value))
      hands_.fail("data race: a line is read while it is stored");
    if (value != expected(from, me(), line)) hands_.fail("what is taken is not of this epoch");
  }

  std::uint64_t load_closed(unsigned member) {
    if (!scenario_.closes) return 0;
    if (scenario_.may_die != 0 &&
        hands_.load(places_.dead(member), Order::acquire, "whether dead") != 0)
      return 1;  // it serves nothing
    const bool relaxed = is(Defect::closed_asked_relaxed) && actor_.at == At::ask;
    const bool relaxed_at_last = is(Defect::closed_read_relaxed) && actor_.at == At::leave;
    return hands_.load(places_.closed(me(), member),
                       relaxed || relaxed_at_last ? Order::relaxed : Order::acquire, "CLOSED");
  }
  void store_closed(unsigned member, std::uint64_t value) {
    if (is(Defect::closed_untold) && member == (me() + 1) % members()) return;
    hands_.store(places_.closed(member, me()),
                 is(Defect::closed_relaxed) ? Order::relaxed : Order::release,
                 static_cast<unsigned>(value), "CLOSED");
  }

  // All slots of this flight here serve something else.
  void reuse() {
    if (!hands_.live()) return;
    for (unsigned from = 0; from < members(); ++from)
      for (unsigned i = 0; from != me() && i < protocol::rally::slots * places_.lines(); ++i)
        reuse_line(places_.line(flight_, me(), from, 0, i));
  }

  // Whether all that this wait needs of the present line has been stored.
  bool is_there(std::uint32_t line) const {
    bool there = true;
    for (unsigned from = 0; from < members(); ++from) {
      if (from == me() || line >= lines_from(from)) continue;
      const unsigned at = place(me(), from, protocol::rally::slot_of(epoch_), line);
      there = there && protocol::line_flag(memory_.newest(at), flag_bits()) ==
                           protocol::line_flag(epoch_, flag_bits());
    }
    return there;
  }

  bool is(Defect defect) const { return scenario_.defect == defect; }

 private:
  static constexpr const char* names[] = {"LINE of 0:", "LINE of 1:", "LINE of 2:"};

  // A block's line, as the message has it.
  unsigned number(std::uint32_t line) const {
    return scenario_.blocks > 1 ? hands_.thread % scenario_.blocks : line;
  }
  std::uint32_t lines(unsigned from, unsigned to) const {
    const unsigned least = is(Defect::no_empty_line) ? 0 : 1;
    const unsigned all = std::max<unsigned>(least, scenario_.lines[from][to]);
    return scenario_.blocks > 1 ? (number(0) < all ? 1 : 0) : all;
  }
  unsigned place(unsigned at, unsigned from, unsigned slot, std::uint32_t line) const {
    const bool one_slot = is(Defect::one_slot) || (is(Defect::one_slot_of_results) && flight_ == 1);
    return places_.line(flight_, at, from, one_slot ? 0 : slot, number(line));
  }

  Value expected(unsigned from, unsigned to, std::uint32_t line) const {
    return flight_ == 0 ? contribution(from, to, epoch_, number(line))
                        : combined(scenario_, from, epoch_, number(line));
  }
  Value to_send(unsigned to, std::uint32_t line) const {
    return flight_ == 0 ? contribution(me(), to, epoch_, number(line)) : actor_.sum[line];
  }
  void write(unsigned to, unsigned slot, std::uint32_t line) {
    if (scenario_.form == Form::cells || number(line) >= scenario_.lines[me()][to]) return;
    if (hands_.live() &&
        !memory_.write_cell(hands_.thread, place(to, me(), slot, line), to_send(to, line)))
      hands_.fail("data race: a line is stored into memory in use");
  }
  void reuse_line(unsigned at) {
    if (!memory_.store(hands_.thread, at, Order::relaxed, 0) ||
        (scenario_.form == Form::lines && !memory_.write_cell(hands_.thread, at, no_data)))
      hands_.fail("data race: a line comes into memory in new use");
  }
  void add(unsigned from, std::uint32_t line) {
    if (flight_ == 0 && number(line) < scenario_.lines[from][me()])
      actor_.sum[line] = combine(actor_.sum[line], expected(from, me(), line));
  }

  const Scenario& scenario_;
  const Places places_;
  Memory& memory_;
  Replay& hands_;
  Actor& actor_;
  const unsigned flight_;
  Epoch epoch_;
  std::array<Value, most_members> cell_data_{};
};

static_assert(protocol::rally::Port<Port>);

}  // namespace penstock::explorer::rallies
