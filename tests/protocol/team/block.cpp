// SPDX-License-Identifier: Apache-2.0
// The one place where src/protocol/team.hpp is compiled for the explorer.
#include "protocol/team/block.hpp"

#include "protocol/closing.hpp"

namespace penstock::explorer::teams {

namespace {

namespace team = protocol::team;
using protocol::Side;
using protocol::Word;

// THROUGH as the model's words can hold it: the count modulo 8, which tells as much of up to three
// blocks, and the marks.
struct Through {
  static Value pack(std::uint64_t word) {
    return static_cast<Value>((word & 7) | ((word & team::somebody_failed) != 0 ? 8 : 0) |
                              ((word & team::queue_failed_first) != 0 ? 16 : 0));
  }
  static std::uint64_t unpack(Value value) {
    std::uint64_t word = value & 7;
    if (word > 3) word += team::everybody - 8;
    return word | ((value & 8) != 0 ? team::somebody_failed : 0) |
           ((value & 16) != 0 ? team::queue_failed_first : 0);
  }
};

// GIVEN_UP likewise.
struct GivenUp {
  static Value pack(std::uint64_t word) {
    return static_cast<Value>(team::epoch_given_up(word) | (team::is_to_be_told(word) ? 64 : 0));
  }
  static std::uint64_t unpack(Value value) {
    return (value & 63u) | ((value & 64) != 0 ? team::untold : 0);
  }
};

// A block's hands, for protocol/team.hpp, and its port, for protocol/closing.hpp.
class Block {
 public:
  static constexpr bool native_atomics = true;
  static constexpr bool may_close = true;

  Block(const Scenario& scenario, Hands& hands) : scenario_(scenario), hands_(hands) {}

  // protocol/team.hpp
  unsigned index() const { return hands_.thread; }
  unsigned blocks() const { return scenario_.blocks; }
  unsigned parts() const { return scenario_.parts; }
  std::uint64_t load_command() {
    return hands_.load(Places::command,
                       is(Defect::relaxed_command_load) ? Order::relaxed : Order::acquire,
                       "COMMAND");
  }
  void store_command(std::uint64_t command) {
    hands_.store(Places::command,
                 is(Defect::relaxed_command_store) ? Order::relaxed : Order::release,
                 static_cast<unsigned>(command), "COMMAND");
  }
  void copy(Task task, unsigned part) {
    if (!is(Defect::done_before_copy)) move(task, part);
  }
  void fence() {
    fenced_ = true;
    if (!is(Defect::no_fence_after_copy)) hands_.fence(Order::seq_cst);
  }
  void say(Task task, unsigned part, Epoch epoch) {
    if (hands_.state.truth.reused) hands_.fail("a store into words that serve another pair");
    hands_.store(Places::said + part, Order::relaxed, static_cast<unsigned>(epoch),
                 task == Task::push ? "DONE" : "FIN");
    if (is(Defect::done_before_copy)) move(task, part);
  }
  std::uint64_t add_through(std::uint64_t share) {
    if (is(Defect::not_counted) && index() != 0) return 1;
    const auto before = Through::unpack(hands_.modify(
        Places::through, Order::relaxed,
        [&](Value value) { return Through::pack(Through::unpack(value) + share); }, "THROUGH"));
    return Through::unpack(Through::pack(before + share));
  }
  std::uint64_t mark_through(std::uint64_t bits) {
    return Through::unpack(hands_.modify(
        Places::through, is(Defect::relaxed_mark) ? Order::relaxed : Order::acq_rel,
        [&](Value value) { return value | Through::pack(bits); },
        "THROUGH (a copy does not hold)"));
  }
  void acquire_fence() {
    if (!is(Defect::no_fence_before_end)) hands_.fence(Order::acquire);
  }

  // protocol/closing.hpp
  template <Order order>
  std::uint64_t load(Word) {
    return hands_.load(Places::closed_by_peer, order, "CLOSED");
  }
  template <Order order>
  void store(Word, std::uint64_t value) {
    // Two blocks may find that all are through, and say the same.
    hands_.exchange(Places::closed_by_us, order, static_cast<unsigned>(value), "CLOSED");
  }
  template <Order order>
  void fence() {
    if (!fenced_) hands_.fence(order);
  }
  std::uint64_t exchange(Word, std::uint64_t) { return 0; }
  static bool copy_failed() { return false; }
  void fill(unsigned, std::uint32_t) {}
  void drain(unsigned, std::uint32_t) {}
  std::uint64_t load_flag(unsigned, std::uint32_t) { return 0; }
  void store_flag(unsigned, std::uint32_t, std::uint64_t) {}
  void push() {}
  void pull() {}
  static unsigned slots() { return 0; }
  static std::uint32_t lines() { return 0; }
  static unsigned flag_bits() { return 32; }
  static bool checks_ready() { return false; }

  bool is(Defect defect) const { return scenario_.defect == defect; }

 private:
  void move(Task task, unsigned part) {
    if (hands_.actor.late) hands_.fail("a block that came after the peer had closed has copied");
    if (task == Task::push) {
      const Value value = hands_.read_own(part);
      hands_.store(Places::buffer + part, Order::relaxed, value, "the peer's part");
      if (hands_.live() && protocol::closed_before(hands_.state.truth.closed, hands_.actor.epoch))
        hands_.state.truth.lost = true;
    } else {
      hands_.write_own(part, hands_.load(Places::buffer + part, Order::relaxed, "the peer's part"));
    }
  }

  const Scenario& scenario_;
  Hands& hands_;
  bool fenced_ = false;
};

static_assert(protocol::Port<Block>);

class Program {
 public:
  Program(const Scenario& scenario, Hands& hands)
      : scenario_(scenario), hands_(hands), actor_(hands.actor), block_(scenario, hands) {}

  std::uint8_t call() {
    switch (actor_.at) {
      case BlockAt::begin:
        return leads() ? prepare() : begin();
      case BlockAt::look:
        return check_pair();
      case BlockAt::poll:
        return leads() ? poll() : follow();
      case BlockAt::copy:
        return copy();
      case BlockAt::release:
        team::command(block_, kernel(), Task::none);
        give_up();
        // As the device's fail(): told at once, to the host by whoever is the queue's first
        // failure.
        actor_.tells_host =
            hands_.exchange(Places::queue_failed, Order::relaxed, 1, "QUEUE FAILED") == 0;
        return BlockAt::tell;
      case BlockAt::tell:
        return tell();
      case BlockAt::end:
        return end();
      case BlockAt::alone:
        return end_alone();
      default:
        return leave();
    }
  }

 private:
  bool leads() const { return hands_.thread == 0; }
  Epoch epoch() const { return actor_.epoch; }
  std::uint64_t kernel() const { return team::kernel_of(epoch(), team::Phase::wait); }

  // All blocks of the kernels so far have ended.
  bool kernels_have_ended(unsigned kernels) {
    const Value ended = hands_.modify(
        Places::ended, Order::acq_rel, [](Value value) { return value; }, "ENDED");
    return ended == kernels * scenario_.blocks;
  }

  // The kernel before has ended without a failure: the message is that of its epoch, and went where
  // it should.
  void check_message() {
    if (hands_.state.truth.told) return;
    if (hands_.state.truth.lost) hands_.fail("a part that a closed peer got is reported as sent");
    if (scenario_.task != Task::pull) return;
    for (unsigned part = 0; part < scenario_.parts; ++part)
      if (hands_.read_own(part) != epoch() - 1)
        hands_.fail("another message is reported as received");
  }

  // The stream between two kernels: the user looks at the message, and makes the next one.
  std::uint8_t prepare() {
    if (!kernels_have_ended(actor_.epoch - 1u)) return BlockAt::begin;
    if (epoch() > 1) check_message();
    for (unsigned part = 0; part < scenario_.parts; ++part)
      hands_.write_own(part, scenario_.task == Task::push ? actor_.epoch : Value{0});
    hands_.store(Places::started, Order::release, actor_.epoch, "the launch of kernel");
    return BlockAt::look;
  }
  std::uint8_t begin() {
    return hands_.load(Places::started, Order::acquire, "the launch of kernel") < epoch()
               ? BlockAt::begin
               : BlockAt::look;
  }

  std::uint8_t check_pair() {
    const bool closed = protocol::closed_before(hands_.state.truth.closed, epoch());
    if (block_.is(Defect::late_block_does_not_check) && !leads()) {
      actor_.late = closed;
      return BlockAt::poll;
    }
    const std::uint64_t given_up =
        GivenUp::unpack(hands_.load(Places::given_up, Order::acquire, "GIVEN UP"));
    const Value by_peer = hands_.load(Places::closed_by_peer, Order::acquire, "CLOSED");
    actor_.given_up = given_up != 0;
    actor_.untold = team::is_to_be_told(given_up);
    actor_.willing = !actor_.given_up && !protocol::closed_before(by_peer, epoch());
    return BlockAt::poll;
  }

  // The wait of the leader: until the peer is ready, or it is released because the peer has closed.
  std::uint8_t poll() {
    if (actor_.given_up) {
      if (actor_.untold && !block_.is(Defect::untold_is_forgotten)) return BlockAt::release;
      team::command(block_, kernel(), Task::none);
      return BlockAt::end;
    }
    if (hands_.load(Places::ready, Order::acquire, "READY") >= epoch()) return BlockAt::copy;
    if (!protocol::closing::peer_closed<Side::sender>(block_, epoch())) return BlockAt::poll;
    return hands_.load(Places::ready, Order::acquire, "READY") >= epoch() ? BlockAt::copy
                                                                          : BlockAt::release;
  }

  std::uint8_t follow() {
    const std::uint64_t word = block_.load_command();
    const bool ours = block_.is(Defect::stale_command) ? word != 0 : team::is_for(word, kernel());
    if (!ours) return BlockAt::poll;
    return team::task_of(word) == Task::none ? BlockAt::end : BlockAt::copy;
  }

  bool holds() {
    return scenario_.task == Task::push
               ? protocol::closing::copy_holds<Side::sender>(block_, epoch())
               : protocol::closing::copy_holds<Side::receiver>(block_, epoch());
  }

  std::uint8_t copy() {
    if (leads()) team::command(block_, kernel(), scenario_.task);
    const bool willing = leads() || actor_.willing;
    if (willing) team::copy_parts(block_, scenario_.task, epoch());
    const std::uint64_t through = team::count_through(block_);
    team::Telling telling;
    if (willing && holds()) {
      telling = team::end_well(block_, through);
    } else {
      give_up();
      const bool first =
          hands_.exchange(Places::queue_failed, Order::relaxed, 1, "QUEUE FAILED") == 0;
      telling = team::end_badly(block_, through, first);
      if (block_.is(Defect::first_failure_tells)) telling.peer = telling.host = true;
      if (block_.is(Defect::only_the_first_tells_the_host)) telling.host = telling.host && first;
    }
    // Where the first that failed had no leader, the host has not been told.
    actor_.tells_host = telling.host;
    if (telling.peer && !telling.host && scenario_.impatient)
      actor_.tells_host =
          hands_.exchange(Places::queue_failed, Order::relaxed, 1, "QUEUE FAILED") == 0;
    return telling.peer ? BlockAt::tell : BlockAt::end;
  }

  // Its leader may come yet.
  std::uint8_t end_alone() {
    hands_.modify(
        Places::given_up, Order::release,
        [&](Value value) { return value != 0 ? value : GivenUp::pack(epoch() | team::untold); },
        "GIVEN UP");
    team::Telling telling = team::end_badly(block_, team::count_through(block_), false);
    if (block_.is(Defect::tells_without_leader)) telling.peer = true;
    actor_.tells_host =
        telling.peer && (telling.host || hands_.exchange(Places::queue_failed, Order::relaxed, 1,
                                                         "QUEUE FAILED") == 0);
    return telling.peer ? BlockAt::tell : BlockAt::end;
  }

  void give_up() { hands_.exchange(Places::given_up, Order::release, actor_.epoch, "GIVEN UP"); }

  // The user may use the buffer right after the peer has been told.
  std::uint8_t tell() {
    if (scenario_.task == Task::push)
      protocol::closing::close<Side::sender>(block_, epoch());
    else
      protocol::closing::close<Side::receiver>(block_, epoch());
    const bool first = hands_.exchange(Places::told, Order::acq_rel, 1, "TOLD") == 0;
    if (first)
      for (unsigned part = 0; part < scenario_.parts; ++part) hands_.write_own(part, 7);
    if (hands_.live() && actor_.tells_host) hands_.state.truth.told = true;
    return BlockAt::end;
  }

  std::uint8_t end() {
    hands_.modify(
        Places::ended, Order::acq_rel, [](Value value) { return value + 1; }, "ENDED");
    const bool last = ++actor_.epoch > scenario_.epochs;
    actor_.willing = true;
    actor_.given_up = actor_.late = actor_.untold = false;
    if (last) return leads() ? BlockAt::leave : finished;
    return BlockAt::begin;
  }

  // Behind the last kernel, in the order of the stream.
  std::uint8_t leave() {
    if (!kernels_have_ended(scenario_.epochs)) return BlockAt::leave;
    check_message();
    hands_.store(Places::gone, Order::release, 1, "GONE");
    return finished;
  }

  const Scenario& scenario_;
  Hands& hands_;
  Actor& actor_;
  Block block_;
};

}  // namespace

std::uint8_t call_block(const Scenario& scenario, Hands& hands) {
  return Program(scenario, hands).call();
}

}  // namespace penstock::explorer::teams
