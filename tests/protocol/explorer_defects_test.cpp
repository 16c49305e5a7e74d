// SPDX-License-Identifier: Apache-2.0
// What the explorer is worth: it finds each defect that is planted, and nothing where none is.
#include "protocol/explorer/defects.hpp"
#include "protocol/explorer/kinds.hpp"
#include "protocol/explorer/report.hpp"

namespace penstock::explorer {
namespace {

using namespace defects;

Scenario one_pair(const PairSpec& kind, unsigned epochs = 4) {
  const std::string times = std::to_string(epochs);
  return {"one pair", {kind}, {{"(s1 w1)" + times}, {"(r1 w1)" + times}}};
}

Scenario l1(const PairSpec& kind) {
  return {"L1", {kind, kind}, {{"(s1 w1 s2 w2)2"}, {"(r1 r2 w2 w1)2"}}};
}

Result try_plain(Scenario scenario) {
  return explore(scenario, Liveness::programs);
}

template <class Defect>
Result try_with(Scenario scenario) {
  scenario.relaxed_orders = true;
  return explore(scenario, Liveness::programs, &make_port<Defect>);
}

// The defect is found, in a way that one of the words in `signs` tells; without it the same
// scenario is in order.
template <class Defect>
void expect_found(const Scenario& scenario, const std::vector<std::string>& signs) {
  const Result plain = try_plain(scenario);
  EXPECT_TRUE(plain.ok()) << plain.failure;
  const Result result = try_with<Defect>(scenario);
  const std::string first_line = result.failure.substr(0, result.failure.find('\n'));
  std::cout << "  " << describe(scenario.pairs[0]) << ": "
            << (result.ok() ? "NOT FOUND" : first_line) << '\n';
  bool told = false;
  for (const std::string& sign : signs) told = told || first_line.find(sign) != std::string::npos;
  EXPECT_TRUE(told) << (result.ok() ? "not found" : result.failure);
}

template <class Defect>
void expect_harmless(const Scenario& scenario) {
  const Result result = try_with<Defect>(scenario);
  std::cout << "  " << describe(scenario.pairs[0]) << ": "
            << (result.ok() ? "nothing to find" : "found") << '\n';
  EXPECT_TRUE(result.ok()) << result.failure;
}

const std::string race = "data race", twice = "exactly once", stuck = "does not end",
                  other = "another message", slot = "no slot";

TEST(PlantedDefect, WeakenedHandshake) {
  expect_found<Handshake<false, false>>(one_pair(rendezvous(ClaimBy::flags)), {race, twice, stuck});
}
// Fences alone suffice, and so do sequentially consistent accesses alone: the code has both, for
// links and for detectors.
TEST(PlantedDefect, HalfOfTheHandshakeIsEnough) {
  expect_harmless<Handshake<true, false>>(one_pair(rendezvous(ClaimBy::flags)));
  expect_harmless<Handshake<false, true>>(one_pair(rendezvous(ClaimBy::flags)));
}

TEST(PlantedDefect, FlagBeforeData) {
  for (Mode mode : {Mode::standard, Mode::synchronous})
    for (unsigned lines : {1u, 2u})
      expect_found<FlagBeforeData>(one_pair(ring(mode, 2, lines)), {race, other});
  expect_found<FlagBeforeData>(one_pair(rendezvous()), {race, other, twice});
}

TEST(PlantedDefect, NoClaim) {
  expect_found<NoClaim>(one_pair(rendezvous(ClaimBy::exchange)), {race, twice});
  expect_found<NoClaim>(one_pair(rendezvous(ClaimBy::flags)), {race, twice});
}

TEST(PlantedDefect, LostAcknowledgement) {
  expect_found<Lost<Word::fin>>(one_pair(ring()), {stuck});
  expect_found<Lost<Word::fin>>(one_pair(rendezvous(ClaimBy::exchange)), {stuck});
  expect_found<Lost<Word::fin>>(one_pair(rendezvous(ClaimBy::flags)), {stuck});
}

TEST(PlantedDefect, OtherLostWords) {
  expect_found<Lost<Word::cts>>(one_pair(ring(Mode::synchronous)), {stuck});
  expect_found<Lost<Word::cts>>(one_pair(rendezvous()), {stuck});
  expect_found<Lost<Word::rts>>(one_pair(rendezvous()), {stuck});
  expect_found<Lost<Word::done>>(one_pair(rendezvous()), {stuck});
}

TEST(PlantedDefect, TooNarrowEpoch) {
  for (unsigned slots : {2u, 3u})
    for (Mode mode : {Mode::standard, Mode::synchronous})
      expect_found<NarrowEpoch>(one_pair(ring(mode, slots)), {other, race, stuck, twice});
}

TEST(PlantedDefect, OneSlot) {
  expect_found<TooFewSlots<1>>(l1(ring()), {stuck, slot});
}

// A sender of these is held up by `slots` slots for the first time in epoch slots + 1.
Scenario deferred(unsigned slots) {
  return one_pair(deferred_ring(Mode::standard, slots), slots + 2);
}

TEST(PlantedDefect, DeferredWithTwoSlots) {
  const Scenario held_up{"held up",
                         {deferred_ring(Mode::standard, 3), ring()},
                         {{"s1 w1 s1 w1 s1 s2 w2 w1"}, {"r1 w1 r1 r2 w2 w1 r1 w1"}}};
  expect_found<TooFewSlots<2>>(held_up, {stuck});
}

TEST(PlantedDefect, DeferredFinTooEarly) {
  expect_found<ShiftedFin<1>>(deferred(3), {race, other, slot});
  expect_found<ShiftedFin<1>>(deferred(4), {race, other, slot});
}

// The fourth slot is one more than it takes: it is there because four is a power of two.
TEST(PlantedDefect, DeferredFinTooLate) {
  expect_found<ShiftedFin<-1>>(deferred(3), {stuck});
  expect_harmless<ShiftedFin<-1>>(deferred(4));
  expect_found<ShiftedFin<-2>>(deferred(4), {stuck});
  for (unsigned slots : {3u, 4u}) expect_found<Lost<Word::fin>>(deferred(slots), {stuck});
}

TEST(PlantedDefect, DeferredAndNotSettled) {
  for (unsigned slots : {3u, 4u}) expect_found<NotSettled>(deferred(slots), {race, other, slot});
}

Scenario in_kernels(unsigned slots) {
  return one_pair(ring_in_kernels(Mode::standard, slots), slots + 2);
}

TEST(PlantedDefect, InKernels) {
  expect_found<ShiftedFin<1>>(in_kernels(3), {race, other, slot});
  expect_found<ShiftedFin<1>>(in_kernels(4), {race, other, slot});
  expect_found<ShiftedFin<-2>>(in_kernels(4), {stuck});
  expect_found<Lost<Word::fin>>(in_kernels(4), {stuck});
  expect_found<NarrowEpoch>(one_pair(ring_in_kernels(Mode::standard, 3), 5),
                            {other, race, stuck, twice});
}

TEST(PlantedDefect, DeferredWithTooNarrowFlags) {
  for (Mode mode : {Mode::standard, Mode::synchronous})
    expect_found<NarrowEpoch>(one_pair(deferred_ring(mode, 3), 5), {other, race, stuck, twice});
}

TEST(WeakenedOrder, DeferredFin) {
  expect_found<RelaxedStore<Word::fin>>(deferred(3), {race});
  expect_found<RelaxedLoad<Word::fin>>(deferred(3), {race});
  Scenario scenario = deferred(3);
  scenario.pairs[0].may_close = true;  // the model keeps what fences publish
  expect_harmless<RelaxedFinAfterAFence>(scenario);
}

TEST(PlantedDefect, SharedCopies) {
  expect_found<ForgottenPusher>(one_pair(shared_rendezvous(), 2), {race});
  expect_found<ForgottenPuller>(one_pair(shared_rendezvous(), 2), {race, other});
  expect_found<SilentHelper>(one_pair(shared_rendezvous(), 2), {race, stuck, other});
}

TEST(PlantedDefect, PartsTakenWithoutComparing) {
  expect_found<NotCompared>(one_pair(shared_rendezvous(), 2), {race});
}

// A side is released once; each kind of pair, one for each way in which a side can have copied.
Scenario released(const PairSpec& kind, unsigned epochs = 3) {
  Scenario scenario = one_pair(closing(kind), epochs);
  scenario.name = "L21";
  scenario.releases = 1;
  return scenario;
}

const std::string new_use = "new use", whole = "sent whole", knows = "its thread knows",
                  cannot_end = "cannot end", zeroed = "zeroed";

TEST(PlantedDefect, NoLookAtClosedAfterACopy) {
  expect_found<NoLookAfterCopy>(released(rendezvous()), {new_use, other});
  expect_found<NoLookAfterCopy>(released(shared_rendezvous(), 2), {new_use, other});
}

TEST(PlantedDefect, NoFenceBetweenCopyAndLook) {
  expect_found<Unfenced<FenceOf::pusher>>(released(rendezvous()), {new_use});
  expect_found<Unfenced<FenceOf::puller>>(released(rendezvous()), {other});
  expect_found<Unfenced<FenceOf::pusher>>(released(shared_rendezvous(), 2), {new_use});
  expect_found<Unfenced<FenceOf::puller>>(released(shared_rendezvous(), 2), {other});
}

// Acquire is enough for the side that only loads from the other's buffer, and not for the one that
// stores.
TEST(PlantedDefect, AnAcquireFenceDoesNotKeepAPushBeforeTheLook) {
  expect_found<Unfenced<FenceOf::pusher, true>>(released(rendezvous()), {new_use});
}

TEST(PlantedDefect, NoFenceBetweenClosedAndTheNewUse) {
  expect_found<Unfenced<FenceOf::closer>>(released(rendezvous()), {new_use, other});
}

TEST(PlantedDefect, ToldBeforeClosed) {
  expect_found<ToldBeforeClosed>(released(rendezvous()), {new_use, other});
  expect_found<ToldBeforeClosed>(released(rendezvous(ClaimBy::flags)), {new_use, other});
}

TEST(PlantedDefect, OldEpochClaimedAfterTheNextWasGivenUp) {
  expect_found<OnlyThisEpochClaimed>(released(rendezvous()), {twice, new_use});
}

TEST(PlantedDefect, AnEndThatDoesNotSayThatItCloses) {
  expect_found<Lost<Word::sender_closed>>(released(rendezvous()), {stuck, cannot_end});
  expect_found<Lost<Word::receiver_closed>>(released(ring()), {stuck, cannot_end});
}

// The starts of a pair without CLOSED words.
TEST(PlantedDefect, NoLookAtClosedInAStart) {
  for (const PairSpec& kind :
       {ring(), ring(Mode::synchronous), rendezvous(), rendezvous(ClaimBy::flags)}) {
    Scenario scenario{"freed", {closing(kind)}, {{"s1 w1 a1 s1"}, {"r1 w1 c1 e1"}}};
    EXPECT_TRUE(try_plain(scenario).ok());
    Machine machine = machine_for(scenario.pairs[0]);
    machine.start_send = machine_for(kind).start_send;
    const Result result = explore(scenario, Liveness::programs, {machine});
    EXPECT_NE(result.failure.find(knows), std::string::npos) << result.failure;
  }
}

TEST(PlantedDefect, FailedCopyForgotten) {
  PairSpec kind = rendezvous();
  kind.copy_may_fail = true;
  expect_found<FailureForgotten>(released(kind, 2), {other, race});
}

// What a give-up does to the claim spares the user's memory a copy that begins late. Truth does not
// rest on it.
TEST(PlantedDefect, ClosingWithoutForbiddingTheClaimIsHarmless) {
  for (ClaimBy claim : {ClaimBy::exchange, ClaimBy::flags}) {
    const Scenario scenario = released(rendezvous(claim));
    Machine machine = machine_for(scenario.pairs[0]);
    for (Closing& closing : machine.closing) closing.give_up = closing.close;
    const Result result = explore(scenario, Liveness::programs, {machine});
    EXPECT_TRUE(result.ok()) << result.failure;
  }
}

// A receive that ends untouched, freed while it is started.
Scenario freed(const PairSpec& kind) {
  return {"freed", {on_hosts(kind)}, {{"(s1 w1)2"}, {"r1 w1 r1 c1"}}};
}

const std::string behind_free = "after its receive had been freed";

void expect_machine_found(const Scenario& scenario, const Machine& machine) {
  EXPECT_TRUE(try_plain(scenario).ok());
  const Result result = explore(scenario, Liveness::programs, {machine});
  const std::string first_line = result.failure.substr(0, result.failure.find('\n'));
  std::cout << "  " << (result.ok() ? "NOT FOUND" : first_line) << '\n';
  EXPECT_TRUE(first_line.find(behind_free) != std::string::npos ||
              first_line.find(race) != std::string::npos)
      << (result.ok() ? "not found" : result.failure);
}

TEST(PlantedDefect, AStartThatPushesWithoutTheClaim) {
  for (const PairSpec& kind : {rendezvous(), shared_rendezvous()}) {
    Machine machine = machine_for(on_hosts(kind));
    machine.start_send = machine_for(closing(kind)).start_send;
    expect_machine_found(freed(kind), machine);
  }
}

TEST(PlantedDefect, AReceiverThatDoesNotWaitForTheSendersCopy) {
  for (const PairSpec& kind : {rendezvous(), shared_rendezvous()}) {
    Machine machine = machine_for(on_hosts(kind));
    machine.is_untouched = [](ModelPort&, ReceiverState&) { return true; };
    expect_machine_found(freed(kind), machine);
  }
}

TEST(PlantedDefect, ALaterEpochsClaimIsNotPutBack) {
  expect_found<ClaimNotPutBack>(freed(rendezvous()), {behind_free, race});
}

TEST(PlantedDefect, HelpIsNotRefused) {
  Scenario scenario = freed(shared_rendezvous());
  scenario.releases = 1;
  expect_found<HelpNotRefused>(scenario, {behind_free, race});
}

TEST(WeakenedOrder, DoneOfAReceiveThatIsFreed) {
  const Scenario scenario{"freed", {on_hosts(rendezvous())}, {{"s1 w1"}, {"r1 c1"}}};
  expect_found<RelaxedStore<Word::done>>(scenario, {race});
  expect_found<RelaxedLoad<Word::done>>(scenario, {race});
}

// Each order of the table in docs/protocol.md made relaxed.
TEST(WeakenedOrder, Cts) {
  for (const PairSpec& kind : {rendezvous(), ring(Mode::synchronous)}) {
    expect_found<RelaxedStore<Word::cts>>(one_pair(kind), {race});
    expect_found<RelaxedLoad<Word::cts>>(one_pair(kind), {race});
  }
}
TEST(WeakenedOrder, Rts) {
  expect_found<RelaxedStore<Word::rts>>(one_pair(rendezvous()), {race});
  expect_found<RelaxedLoad<Word::rts>>(one_pair(rendezvous()), {race});
}
TEST(WeakenedOrder, Done) {
  expect_found<RelaxedStore<Word::done>>(one_pair(rendezvous()), {race});
  expect_found<RelaxedLoad<Word::done>>(one_pair(rendezvous()), {race});
}
TEST(WeakenedOrder, Fin) {
  for (const PairSpec& kind : {rendezvous(), ring(), ring(Mode::standard, 3)}) {
    expect_found<RelaxedStore<Word::fin>>(one_pair(kind), {race});
    expect_found<RelaxedLoad<Word::fin>>(one_pair(kind), {race});
  }
}
TEST(WeakenedOrder, Line) {
  expect_found<RelaxedFlagStore>(one_pair(ring()), {race});
  expect_found<RelaxedFlagLoad>(one_pair(ring()), {race});
}
// Release and acquire of CLOSED: the look that follows must find a message that was sent before.
TEST(WeakenedOrder, Closed) {
  expect_found<RelaxedStore<Word::sender_closed>>(released(ring()), {whole});
  expect_found<RelaxedLoad<Word::sender_closed>>(released(ring()), {whole});
}
// The sender that sees the receiver's CLOSED must know all that the receiver has stored into its
// block, which may serve another pair then. A sender asks CLOSED about nothing that came before it.
TEST(WeakenedOrder, ClosedByTheReceiver) {
  for (const PairSpec& kind : {ring(), rendezvous(), rendezvous(ClaimBy::flags)}) {
    Scenario reused{
        "L18", {closing(kind)}, {{"s1 w1 c1 z1 e1 a2 s1 w1"}, {"r1 w1 c1 a1 n1 e2 r1 w1"}}};
    reused.releases = 1;
    expect_found<RelaxedStore<Word::receiver_closed>>(reused, {zeroed});
    expect_harmless<RelaxedLoad<Word::receiver_closed>>(released(kind));
  }
}
// The parts that are left. The helper's side of the order stands twice: it loads the word, and
// takes a part by it.
TEST(WeakenedOrder, Parts) {
  expect_found<RelaxedOffer>(one_pair(shared_rendezvous(), 2), {race});
  expect_found<RelaxedParts<true, true>>(one_pair(shared_rendezvous(), 2), {race});
  expect_harmless<RelaxedParts<true, false>>(one_pair(shared_rendezvous(), 2));
  expect_harmless<RelaxedParts<false, true>>(one_pair(shared_rendezvous(), 2));
}
// Orders that the protocol could do without: what they would order, CTS and RTS have ordered
// before.
TEST(WeakenedOrder, NotNeeded) {
  expect_harmless<RelaxedClaim>(one_pair(rendezvous()));
  expect_harmless<RelaxedClaim>(l1(rendezvous()));
  expect_harmless<RelaxedClaim>(freed(rendezvous()));
  expect_harmless<RelaxedAnswer>(one_pair(rendezvous(ClaimBy::flags)));
}

}  // namespace
}  // namespace penstock::explorer
