// SPDX-License-Identifier: Apache-2.0
// Halves whose process does not act after it has handed them to match: their peers come through all
// the same, in MPI's order, whatever crosses on the way, and whoever gives up or dies.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "core/matching/matcher.hpp"
#include "unit/core/matching/match_office.hpp"
#include "unit/support/scarce_memory.hpp"

namespace penstock::core::test {
namespace {

using std::chrono::milliseconds;

class LeavingTest : public ::testing::Test {
 protected:
  static void drive(Clerk& clerk, const MatchJob& job) {
    while (!job.finished) {
      clerk.matcher->drive();
      std::this_thread::yield();
    }
  }
  static void drive_both(Clerk& one, const MatchJob& job, Clerk& other) {
    while (!job.finished) {
      one.matcher->drive();
      other.matcher->drive();
      std::this_thread::yield();
    }
  }
  static ErrorKind kind(const MatchJob& job) {
    return job.error ? job.error->kind() : ErrorKind::none;
  }
  static base::Settings hasty() {
    base::Settings settings;
    settings.timeout = milliseconds(1);
    return settings;
  }
  int closed() const { return zero_.pigeons.closed + one_.pigeons.closed; }

  Office office_;
  Clerk zero_{0, 3, office_}, one_{1, 3, office_}, two_{2, 3, office_};
};

TEST_F(LeavingTest, ASendIsMatchedWithAReceiverThatDoesNotAct) {
  const auto receive = zero_.receive(1, 0, 100), send = one_.send(0);
  const auto left = zero_.leave({receive.get()});
  const auto sending = one_.begin({send.get()});
  drive(one_, *sending);
  EXPECT_TRUE(send->matched());
  EXPECT_FALSE(receive->matched());
  drive(zero_, *left);
  EXPECT_TRUE(receive->matched());
  EXPECT_EQ(receive->result().bytes, 8u);
  EXPECT_EQ(receive->result().source, 1);
  EXPECT_EQ(closed(), 0);
}

TEST_F(LeavingTest, AReceiveIsMatchedWithASenderThatDoesNotAct) {
  const auto receive = zero_.receive(1), send = one_.send(0);
  const auto left = one_.leave({send.get()});
  const auto receiving = zero_.begin({receive.get()});
  drive(zero_, *receiving);
  EXPECT_TRUE(receive->matched());
  EXPECT_FALSE(send->matched());
  drive(one_, *left);
  EXPECT_TRUE(send->matched());
  EXPECT_EQ(closed(), 0);
}

// The offer and the invitation cross. The sender accepts, is matched and reads no more, so that MPI
// takes nothing for it any more: not that its offer is free either, which the receiver tells it.
TEST_F(LeavingTest, AMatchEndsAlthoughItsPeerReadsNoMoreLetters) {
  const auto receive = zero_.receive(1), send = one_.send(0);
  const auto left = zero_.leave({receive.get()});
  one_.mailbox.deaf = true;
  const auto sending = one_.begin({send.get()});
  one_.mailbox.deaf = false;
  drive(one_, *sending);
  zero_.mailbox.stuck = {1};
  drive(zero_, *left);
  EXPECT_TRUE(receive->matched());
  EXPECT_EQ(office_.waiting(1), 1u) << "nothing was to be told";
}

// MPI brings in what has arrived by several calls.
TEST_F(LeavingTest, WhatHasArrivedCountsThoughTheTimeIsOver) {
  Clerk receiver(0, 3, office_, hasty());
  const auto receive = receiver.receive(1), send = one_.send(0);
  const auto left = receiver.leave({receive.get()});
  const auto sending = one_.begin({send.get()});
  drive(one_, *sending);
  receiver.mailbox.empty_polls = 10;
  while (std::chrono::steady_clock::now() < *left->deadline) std::this_thread::yield();
  drive(receiver, *left);
  EXPECT_TRUE(receive->matched());
}

// What was offered to a peer stays for its answer, which does not come when it dies: the memory is
// free then, without another match.
TEST_F(LeavingTest, WhatAMatchHasGivenUpEndsWhenItsPeerDies) {
  for (const bool sends : {false, true}) {
    Office office;
    Clerk hasty_one(0, 3, office, hasty());
    const auto request = sends ? hasty_one.send(1) : hasty_one.receive(1);
    const auto job = hasty_one.leave({request.get()});
    drive(hasty_one, *job);
    EXPECT_EQ(kind(*job), ErrorKind::timeout);
    EXPECT_EQ(hasty_one.pigeons.offers, 1);
    hasty_one.world.kill(1);
    for (int look = 0; look < 2000 && hasty_one.pigeons.offers > 0; ++look) {
      hasty_one.matcher->drive();
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
    EXPECT_EQ(hasty_one.pigeons.offers, 0) << (sends ? "of a send" : "of a receive");
  }
}

TEST_F(LeavingTest, AMatchWhoseLettersNobodyTakesEndsInTime) {
  Clerk sender(1, 3, office_, hasty());
  const auto receive = zero_.receive(1), send = sender.send(0);
  zero_.leave({receive.get()});
  sender.mailbox.stuck = {0};
  const auto sending = sender.begin({send.get()});
  drive(sender, *sending);
  EXPECT_TRUE(send->matched());
  EXPECT_EQ(kind(*sending), ErrorKind::none);
}

TEST_F(LeavingTest, WildcardsAndTransportsThatMustAskWaitForTheOtherSide) {
  const auto any_source = zero_.receive(any_rank, 1), any_tag_receive = zero_.receive(1, any_tag);
  const auto left = zero_.leave({any_source.get(), any_tag_receive.get()});
  const auto first = one_.send(0, 1), second = one_.send(0, 2);
  const auto sending = one_.begin({first.get(), second.get()});
  for (int round = 0; round < 10; ++round) one_.matcher->drive();
  EXPECT_FALSE(sending->finished);
  drive_both(one_, *sending, zero_);
  drive(zero_, *left);
  zero_.pigeons.confirms = true;
  zero_.pigeons.invites = false;
  const auto receive = zero_.receive(1, 3), send = one_.send(0, 3);
  const auto leaving = one_.leave({send.get()});
  const auto receiving = zero_.begin({receive.get()});
  for (int round = 0; round < 10; ++round) zero_.matcher->drive();
  EXPECT_FALSE(receiving->finished);
  drive_both(zero_, *receiving, one_);
  drive(one_, *leaving);
}

TEST_F(LeavingTest, WhatIsTooLongFailsBothWithoutTheReceiversActing) {
  const auto receive = zero_.receive(1, 0, 7), send = one_.send(0);
  const auto left = zero_.leave({receive.get()});
  const auto sending = one_.begin({send.get()});
  drive(one_, *sending);
  EXPECT_EQ(kind(*sending), ErrorKind::truncate);
  drive(zero_, *left);
  EXPECT_EQ(kind(*left), ErrorKind::truncate);
}

// A message takes the earliest receive that fits it, a receive the earliest message: with one
// sender that does not depend on what crosses on the way. The size of a message tells which one it
// is.
TEST_F(LeavingTest, TheOrderIsMpisWhateverCrossesOnTheWay) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Office office;
    Clerk zero(0, 3, office), one(1, 3, office);
    std::mt19937 random(seed);
    const auto pick = [&](unsigned below) { return static_cast<int>(random() % below); };
    const int wildcards = pick(3);
    std::vector<std::unique_ptr<MatchedRequest>> sends, receives;
    for (int i = 1 + pick(8); i > 0; --i) sends.push_back(one.send(0, pick(2), 10 + sends.size()));
    for (std::size_t i = 0; i < sends.size(); ++i) {
      const bool open = wildcards > 0 && pick(4) == 0;
      receives.push_back(
          zero.receive(open && pick(2) ? any_rank : 1, open && pick(2) ? any_tag : pick(2), 1000));
    }
    std::vector<MatchedRequest*> expected(receives.size());  // the send of each receive
    for (const auto& send : sends)
      for (std::size_t i = 0; i < receives.size(); ++i) {
        const int tag = receives[i]->recording().tag;
        if (expected[i] != nullptr || (tag != any_tag && tag != send->recording().tag)) continue;
        expected[i] = send.get();
        break;
      }
    std::vector<std::shared_ptr<MatchJob>> jobs;
    std::size_t sent = 0, received = 0;
    while (sent < sends.size() || received < receives.size()) {
      const auto begin = [&](Clerk& clerk, MatchedRequest* request) {
        jobs.push_back(pick(3) != 0 ? clerk.leave({request}) : clerk.begin({request}));
      };
      // begin() drives: so letters cross only where the other side has not been driven since.
      switch (pick(4)) {
        case 0:
          if (sent < sends.size()) begin(one, sends[sent++].get());
          break;
        case 1:
          if (received < receives.size()) begin(zero, receives[received++].get());
          break;
        case 2:
          zero.mailbox.deaf = pick(2) != 0;
          one.mailbox.deaf = pick(2) != 0;
          break;
        default:
          (pick(2) != 0 ? zero : one).matcher->drive();
      }
    }
    zero.mailbox.deaf = one.mailbox.deaf = false;
    for (int round = 0; round < 20; ++round) {
      zero.matcher->drive();
      one.matcher->drive();
    }
    for (std::size_t i = 0; i < receives.size(); ++i) {
      ASSERT_EQ(receives[i]->matched(), expected[i] != nullptr) << "receive " << i;
      if (expected[i] == nullptr) continue;
      ASSERT_TRUE(expected[i]->matched());
      ASSERT_EQ(receives[i]->result().bytes, expected[i]->recording().bytes) << "receive " << i;
    }
    EXPECT_EQ(zero.pigeons.closed + one.pigeons.closed, 0);
  }
}

TEST_F(LeavingTest, AReceiveThatIsGivenUpTakesItsInvitationBack) {
  Clerk zero(0, 3, office_, hasty());
  const auto receive = zero.receive(1), send = one_.send(0);
  const auto left = zero.leave({receive.get()});
  drive(zero, *left);
  EXPECT_EQ(kind(*left), ErrorKind::timeout);
  const auto sending = one_.begin({send.get()});  // reads the invitation only now
  for (int round = 0; round < 10; ++round) one_.matcher->drive();
  EXPECT_FALSE(sending->finished);
  const auto later = zero_.receive(1);
  const auto receiving = zero_.begin({later.get()});
  drive_both(zero_, *receiving, one_);
  drive(one_, *sending);
}

TEST_F(LeavingTest, AnAcceptanceThatCrossesTheEndOfItsReceiveIsClosed) {
  Clerk zero(0, 3, office_, hasty());
  const auto receive = zero.receive(1), behind = zero.receive(1), send = one_.send(0),
             other = one_.send(0);
  const auto left = zero.leave({receive.get()});
  one_.matcher->drive();
  const auto sending = one_.begin({send.get()});
  EXPECT_TRUE(send->matched());
  zero.mailbox.deaf = true;
  drive(zero, *left);
  EXPECT_EQ(kind(*left), ErrorKind::timeout);
  zero.mailbox.deaf = false;
  for (int round = 0; round < 5; ++round) {
    zero.matcher->drive();
    one_.matcher->drive();
  }
  EXPECT_EQ(zero.pigeons.closed, 1);
  EXPECT_TRUE(is_unmatched(*receive));
  zero.settings.timeout = milliseconds(0);
  const auto receiving = zero.leave({behind.get()});
  const auto next = one_.begin({other.get()});
  drive_both(one_, *next, zero);
  drive(zero, *receiving);
  EXPECT_TRUE(behind->matched());
}

TEST_F(LeavingTest, TheReceivesBehindOneThatIsGivenUpMoveUp) {
  Clerk zero(0, 3, office_, hasty());
  const auto first = zero.receive(1), second = zero.receive(1, 0, 1000),
             third = zero.receive(1, 0, 1000);
  const auto gives_up = zero.leave({first.get()});
  zero.settings.timeout = milliseconds(0);
  const auto left = zero.leave({second.get(), third.get()});
  drive(zero, *gives_up);
  for (int round = 0; round < 5; ++round) {
    one_.matcher->drive();
    zero.matcher->drive();
  }
  const auto one = one_.send(0, 0, 11), two = one_.send(0, 0, 12);
  const auto sending = one_.begin({one.get(), two.get()});
  drive_both(one_, *sending, zero);
  drive_both(zero, *left, one_);
  EXPECT_EQ(second->result().bytes, 11u);
  EXPECT_EQ(third->result().bytes, 12u);
}

TEST_F(LeavingTest, ASenderThatGivesUpClosesWhatHasBeenAcceptedMeanwhile) {
  Clerk one(1, 3, office_, hasty());
  const auto send = one.send(0), receive = zero_.receive(1);
  const auto left = one.leave({send.get()});
  const auto receiving = zero_.begin({receive.get()});
  EXPECT_TRUE(receive->matched());
  one.mailbox.deaf = true;
  drive(one, *left);
  EXPECT_EQ(kind(*left), ErrorKind::timeout);
  one.mailbox.deaf = false;
  for (int round = 0; round < 5; ++round) {
    zero_.matcher->drive();
    one.matcher->drive();
  }
  EXPECT_EQ(one.pigeons.closed, 1) << "so that the receiver hears of it";
}

TEST_F(LeavingTest, AnOfferThatHasBeenWithdrawnIsNotTaken) {
  Clerk one(1, 3, office_, hasty());
  const auto send = one.send(0), receive = zero_.receive(1, 0, 1000), other = one.send(0, 0, 9);
  const auto left = one.leave({send.get()});
  drive(one, *left);
  one.settings.timeout = milliseconds(0);
  const auto again = one.begin({other.get()});
  const auto receiving = zero_.begin({receive.get()});
  drive_both(zero_, *receiving, one);
  drive_both(one, *again, zero_);
  EXPECT_EQ(receive->result().bytes, 9u);
  EXPECT_EQ(one.pigeons.closed, 0);
}

// A receive of a process that does not act takes the offer of one that does: it counts at once, or
// those behind it could not be invited.
TEST_F(LeavingTest, AReceiveBehindOneThatHasTakenAnOfferIsInvited) {
  const auto first = zero_.receive(1), second = zero_.receive(1, 0, 1000), one = one_.send(0),
             two = one_.send(0, 0, 9);
  const auto sending = one_.begin({one.get()});
  const auto left = zero_.leave({first.get(), second.get()});
  const auto next = one_.begin({two.get()});
  for (int round = 0; round < 10; ++round) one_.matcher->drive();
  EXPECT_TRUE(sending->finished && next->finished);
  drive(zero_, *left);
  EXPECT_EQ(second->result().bytes, 9u);
  EXPECT_EQ(closed(), 0);
}

TEST_F(LeavingTest, AnOfferThatHasBeenTakenIsNotAcceptedForTheNextReceive) {
  const auto first = zero_.receive(1), second = zero_.receive(1, 0, 1000), one = one_.send(0),
             two = one_.send(0, 0, 9);
  const auto sending = one_.leave({one.get()});
  const auto left = zero_.leave({first.get(), second.get()});
  for (int round = 0; round < 10; ++round) {
    one_.matcher->drive();
    zero_.matcher->drive();
  }
  EXPECT_TRUE(first->matched() && one->matched());
  EXPECT_FALSE(second->matched());
  const auto next = one_.begin({two.get()});
  drive_both(one_, *next, zero_);
  drive(zero_, *left);
  EXPECT_EQ(second->result().bytes, 9u);
  EXPECT_EQ(closed(), 0);
}

// The receive behind one that is given up keeps the offer that the first one's invitation is
// accepted for.
TEST_F(LeavingTest, AnInvitationOutlivesTheOfferThatItsReceiveKeeps) {
  Clerk zero(0, 3, office_, hasty());
  const auto first = zero.receive(1), second = zero.receive(1, 0, 1000), one = one_.send(0),
             two = one_.send(0, 0, 9);
  const auto gives_up = zero.leave({first.get()});
  zero.settings.timeout = milliseconds(0);
  const auto left = zero.leave({second.get()});
  one_.mailbox.deaf = true;
  const auto sending = one_.begin({one.get(), two.get()});
  zero.mailbox.deaf = true;
  drive(zero, *gives_up);
  zero.mailbox.deaf = false;
  zero.matcher->drive();
  one_.mailbox.deaf = false;
  for (int round = 0; round < 10; ++round) {
    one_.matcher->drive();
    zero.matcher->drive();
  }
  ASSERT_TRUE(one->matched() && two->matched() && second->matched());
  EXPECT_EQ(second->result().bytes, 9u);
  EXPECT_EQ(zero.pigeons.closed, 1) << "the first send is matched with nobody";
  EXPECT_EQ(one_.pigeons.closed, 0);
}

TEST_F(LeavingTest, NobodyIsInvitedBehindAReceiveThatIsGoneAndStillInvited) {
  Clerk zero(0, 3, office_, hasty());
  const auto gone = zero.receive(1);
  const auto gives_up = zero.leave({gone.get()});
  one_.matcher->drive();
  const auto for_nobody = one_.send(0), one = one_.send(0, 0, 9), two = one_.send(0, 0, 10);
  one_.begin({for_nobody.get()});
  EXPECT_TRUE(for_nobody->matched());
  zero.mailbox.deaf = true;
  drive(zero, *gives_up);
  zero.settings.timeout = milliseconds(0);
  const auto first = zero.receive(1, 0, 1000), second = zero.receive(1, 0, 1000);
  const auto left = zero.leave({first.get(), second.get()});
  const auto sending = one_.begin({one.get(), two.get()});
  zero.mailbox.deaf = false;
  for (int round = 0; round < 10; ++round) {
    one_.matcher->drive();
    zero.matcher->drive();
  }
  ASSERT_TRUE(first->matched() && second->matched());
  EXPECT_EQ(first->result().bytes, 9u);
  EXPECT_EQ(second->result().bytes, 10u);
}

TEST_F(LeavingTest, AReceiveBehindOneWhoseSendIsWithdrawnDoesNotGoFirst) {
  Clerk one(1, 3, office_, hasty());
  const auto first = zero_.receive(1, 0, 1000), second = zero_.receive(1, 0, 1000);
  const auto withdrawn = one.send(0), next = one.send(0, 0, 9);
  const auto left = zero_.leave({first.get(), second.get()});
  one.mailbox.deaf = true;
  const auto gives_up = one.begin({withdrawn.get()});
  drive(one, *gives_up);
  one.settings.timeout = milliseconds(0);
  one.mailbox.deaf = false;
  const auto sending = one.begin({next.get()});
  for (int round = 0; round < 10; ++round) {
    zero_.matcher->drive();
    one.matcher->drive();
  }
  ASSERT_TRUE(first->matched());
  EXPECT_EQ(first->result().bytes, 9u);
  EXPECT_FALSE(second->matched());
}

TEST_F(LeavingTest, AMatchWhoseLettersCannotBeHandedOverIsUnderWayAllTheSame) {
  const auto receive = zero_.receive(1), send = one_.send(0);
  zero_.mailbox.out_of_memory = true;
  std::shared_ptr<MatchJob> left;
  ASSERT_NO_THROW(left = zero_.leave({receive.get()}));
  const auto sending = one_.begin({send.get()});
  drive(one_, *sending);
  drive(zero_, *left);
  EXPECT_TRUE(receive->matched());
}

TEST_F(LeavingTest, TheDeadInviteNobodyAndWhatTheyAcceptedIsForgotten) {
  const auto invitation = zero_.receive(1), receive = zero_.receive(1, 2);
  zero_.leave({invitation.get()});
  const auto left = zero_.leave({receive.get()});
  one_.matcher->drive();
  one_.world.kill(0);
  const auto send = one_.send(0);
  const auto sending = one_.begin({send.get()});
  drive(one_, *sending);
  EXPECT_EQ(kind(*sending), ErrorKind::peer_dead);
  zero_.world.kill(1);
  drive(zero_, *left);
  EXPECT_EQ(kind(*left), ErrorKind::peer_dead);
}

// The monitor's thread sees a death at any time: so rank 1's is told at each of the looks that a
// round takes at it. Rank 2 has died before, as a round looks for the dead only then.
TEST(LeavingWhileLookedAt, AWildcardReceiveWhoseSenderDiesTakesAnother) {
  for (int look = 0; look < 8; ++look) {
    Office office;
    Clerk zero(0, 4, office), one(1, 4, office), three(3, 4, office);
    const auto receive = zero.receive(any_rank);
    const auto lost = one.send(0), send = three.send(0);
    const auto receiving = zero.begin({receive.get()});
    one.begin({lost.get()});
    zero.matcher->drive();  // takes rank 1's offer, whose confirmation does not come
    zero.world.kill(2);
    three.world.kill(2);
    int looks = 0;
    zero.world.when_looked_at = [&](int rank) {
      if (rank == 1 && looks++ == look) zero.world.kill(1);
    };
    for (int i = 0; i < 1000 && looks <= look; ++i) {
      zero.matcher->drive();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    zero.world.kill(1);
    zero.world.when_looked_at = nullptr;
    const auto sending = three.begin({send.get()});
    for (int i = 0; i < 1000 && !receiving->finished; ++i) {
      zero.matcher->drive();
      three.matcher->drive();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(receive->matched()) << "look " << look;
    for (Clerk* clerk : {&zero, &one, &three}) clerk->matcher->give_up_matches("the end");
  }
}

// Of two sends to receives that leave, `left` allocations into the match: where one allocation
// fails, no receive waits beside a send that waits. At the latest in time each half has an outcome,
// and nothing of the matcher refers to it behind that.
void match_with_scarce_memory(std::uint64_t left, std::uint64_t failures, bool receives_first) {
  Office office;
  Clerk zero(0, 2, office), one(1, 2, office);
  std::vector<std::unique_ptr<MatchedRequest>> receives, sends;
  for (int i = 0; i < 2; ++i) {
    receives.push_back(zero.receive(1));
    sends.push_back(one.send(0));
  }
  const auto receiving = zero.matcher->prepare({receives[0].get(), receives[1].get()});
  const auto sending = one.matcher->prepare({sends[0].get(), sends[1].get()});
  receiving->leaves = true;
  const auto begin = [](Clerk& clerk, const std::shared_ptr<MatchJob>& job) {
    try {
      clerk.matcher->begin(job);
    } catch (const std::bad_alloc&) {  // nothing of it is under way
      job->finished = true;
      job->error.emplace(**job->open.begin(), Error(ErrorKind::resources));
    }
  };
  const auto drive = [](Clerk& clerk) {
    try {
      clerk.matcher->drive();
    } catch (const std::bad_alloc&) {
    }
  };
  {
    const ScarceMemory scarce(left, failures);
    if (receives_first) begin(zero, receiving);
    begin(one, sending);
    if (!receives_first) begin(zero, receiving);
    for (int round = 0; round < 2; ++round) {
      drive(zero);
      drive(one);
    }
  }
  for (int round = 0; round < 20; ++round) {
    drive(zero);
    drive(one);
  }
  const auto waits = [](const MatchJob& job) { return !job.finished && !job.open.empty(); };
  EXPECT_FALSE(failures == 1 && waits(*receiving) && waits(*sending));
  receiving->deadline = sending->deadline = std::chrono::steady_clock::time_point{};
  while (!receiving->finished || !sending->finished) {
    drive(zero);
    drive(one);
  }
  for (const auto* halves : {&receives, &sends})
    for (const auto& half : *halves) EXPECT_FALSE(half->match_under_way());
  receives.clear();
  sends.clear();
  std::this_thread::sleep_for(milliseconds(2));  // the next look for lost causes
  drive(zero);
  drive(one);
}

TEST(LeavingWithoutMemory, EachHalfHasAnOutcomeWhereverTheMemoryGivesOut) {
  for (const std::uint64_t failures : {std::uint64_t{1}, ScarceMemory::all})
    for (const bool receives_first : {true, false})
      for (std::uint64_t left = 0; left < 300; ++left) {
        SCOPED_TRACE(testing::Message()
                     << failures << " failures behind " << left << " allocations");
        match_with_scarce_memory(left, failures, receives_first);
      }
}

}  // namespace
}  // namespace penstock::core::test
