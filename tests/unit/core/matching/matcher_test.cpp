// SPDX-License-Identifier: Apache-2.0
// G9: a match ends, by a pair or by an error, whatever dies or fails in the middle of its
// handshake.
#include "core/matching/matcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "base/log.hpp"
#include "unit/core/matching/match_office.hpp"

namespace penstock::core::test {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t wildcards = 100;

class MatcherTest : public ::testing::Test {
 protected:
  // Until the job has ended: dead peers and passed deadlines are looked for now and then only.
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

  Office office_;
  Clerk zero_{0, 3, office_}, one_{1, 3, office_}, two_{2, 3, office_};
};

TEST_F(MatcherTest, AWildcardReceiveLetsGoOfASenderThatDiesBeforeItsConfirmation) {
  const auto receive = zero_.receive(any_rank);
  const auto receiving = zero_.begin({receive.get()});
  const auto dying = one_.send(0);
  one_.begin({dying.get()});
  zero_.matcher->drive();
  ASSERT_EQ(office_.waiting(1), 1u) << "the answer";
  zero_.world.kill(1);
  const auto send = two_.send(0);
  const auto sending = two_.begin({send.get()});
  drive_both(zero_, *receiving, two_);
  drive_both(two_, *sending, zero_);
  EXPECT_TRUE(receive->matched());
  EXPECT_EQ(receive->result().source, 2);
  EXPECT_TRUE(send->matched());
}

// Sizes of messages tell which send each has.
TEST_F(MatcherTest, WildcardReceivesOfADeadSenderKeepTheirOrder) {
  std::vector<std::unique_ptr<MatchedRequest>> receives, dying, sends;
  const auto all_of = [](const auto& requests) {
    std::vector<MatchedRequest*> all;
    for (const auto& request : requests) all.push_back(request.get());
    return all;
  };
  for (std::size_t i = 0; i < wildcards; ++i) {
    receives.push_back(zero_.receive(any_rank, 0, wildcards));
    dying.push_back(one_.send(0));
    sends.push_back(two_.send(0, 0, i));
  }
  const auto receiving = zero_.begin(all_of(receives));
  one_.begin(all_of(dying));
  zero_.matcher->drive();
  ASSERT_EQ(office_.waiting(1), wildcards) << "the answers";
  zero_.world.kill(1);
  const auto sending = two_.begin(all_of(sends));
  drive_both(zero_, *receiving, two_);
  drive_both(two_, *sending, zero_);
  for (std::size_t i = 0; i < wildcards; ++i) {
    EXPECT_EQ(receives[i]->result().source, 2) << i;
    EXPECT_EQ(receives[i]->result().bytes, i);
  }
}

TEST_F(MatcherTest, ANamedReceiveFailsWhenItsSenderDiesBeforeItsConfirmation) {
  const auto receive = zero_.receive(1);
  const auto receiving = zero_.begin({receive.get()});
  const auto dying = one_.send(0);
  one_.begin({dying.get()});
  zero_.matcher->drive();
  ASSERT_EQ(office_.waiting(1), 1u) << "the answer";
  zero_.world.kill(1);
  drive(zero_, *receiving);
  EXPECT_EQ(kind(*receiving), ErrorKind::peer_dead);
  EXPECT_TRUE(is_unmatched(*receive));
}

TEST_F(MatcherTest, OffersOfTheDeadAreNotTaken) {
  const auto early = one_.send(0, 1), late = one_.send(0, 2);
  one_.begin({early.get()});
  zero_.matcher->drive();  // unexpected
  one_.begin({late.get()});
  zero_.world.kill(1);
  const auto first = zero_.receive(any_rank, 1), second = zero_.receive(any_rank, 2);
  const auto receiving = zero_.begin({first.get(), second.get()});
  EXPECT_EQ(office_.waiting(1), 0u) << "an answer to the dead";
  const auto send = two_.send(0, 1), other = two_.send(0, 2);
  two_.begin({send.get(), other.get()});
  drive_both(zero_, *receiving, two_);
  EXPECT_EQ(first->result().source, 2);
  EXPECT_EQ(second->result().source, 2);
}

TEST_F(MatcherTest, AReceiveThatIsFreedKeepsItsPlace) {
  const auto first = zero_.receive(any_rank), second = zero_.receive(any_rank),
             named = zero_.receive(1, 9);
  const auto receiving = zero_.begin({first.get(), second.get()});
  const auto failing = zero_.begin({named.get()});
  const auto dying = one_.send(0);
  one_.begin({dying.get()});
  zero_.matcher->drive();  // the first one answers
  zero_.world.kill(1);
  drive(zero_, *failing);
  const auto send = two_.send(0), other = two_.send(0);
  const auto sending = two_.begin({send.get()});
  drive_both(two_, *sending, zero_);
  EXPECT_TRUE(first->matched());
  EXPECT_FALSE(second->matched());
  two_.begin({other.get()});
  drive_both(zero_, *receiving, two_);
}

// Whichever end it was.
TEST_F(MatcherTest, WhereATransportIsShortOfRoomTheErrorSaysSo) {
  one_.pigeons.has_room = false;
  const auto send = one_.send(0);
  const auto receive = zero_.receive(1);
  const auto receiving = zero_.begin({receive.get()});
  const auto sending = one_.begin({send.get()});
  drive_both(one_, *sending, zero_);
  drive(zero_, *receiving);
  EXPECT_EQ(kind(*sending), ErrorKind::resources);
  EXPECT_EQ(kind(*receiving), ErrorKind::resources);
}

TEST_F(MatcherTest, AnOfferThatCannotBeSentFailsItsSendAlone) {
  one_.mailbox.refused = {2};
  const auto bad = one_.send(2), good = one_.send(0);
  const auto receive = zero_.receive(1);
  const auto receiving = zero_.begin({receive.get()});
  const auto sending = one_.begin({bad.get(), good.get()});
  drive_both(one_, *sending, zero_);
  EXPECT_EQ(kind(*sending), ErrorKind::mpi);
  EXPECT_TRUE(is_unmatched(*bad));
  EXPECT_TRUE(good->matched());
  drive(zero_, *receiving);
  EXPECT_TRUE(receive->matched());
}

TEST_F(MatcherTest, AnAnswerThatCannotBeSentFailsItsReceiveAlone) {
  zero_.mailbox.refused = {1};
  const auto bad = zero_.receive(1), good = zero_.receive(2);
  const auto receiving = zero_.begin({bad.get(), good.get()});
  const auto send = one_.send(0), other = two_.send(0);
  one_.begin({send.get()});
  two_.begin({other.get()});
  drive_both(zero_, *receiving, two_);
  EXPECT_EQ(kind(*receiving), ErrorKind::mpi);
  EXPECT_TRUE(is_unmatched(*bad));
  EXPECT_TRUE(good->matched());
}

TEST_F(MatcherTest, AConfirmationThatCannotBeSentGivesThePairUp) {
  const auto send = one_.send(0);
  const auto sending = one_.begin({send.get()});
  const auto receive = zero_.receive(1);
  zero_.begin({receive.get()});
  one_.mailbox.refused = {0};
  drive(one_, *sending);
  EXPECT_EQ(kind(*sending), ErrorKind::mpi);
  EXPECT_TRUE(is_unmatched(*send));
  EXPECT_EQ(one_.pigeons.closed, 1) << "the half that was connected";
  EXPECT_EQ(office_.waiting(0), 0u);
}

TEST_F(MatcherTest, AHalfIsClosedBeforeTheLetterLeavesThatLetsItsMemoryGo) {
  const auto send = one_.send(0);
  const auto sending = one_.begin({send.get()});
  const auto receive = zero_.receive(any_rank);
  zero_.begin({receive.get()});
  one_.mailbox.refuses_one = true;  // the confirmation; the withdrawal leaves
  std::size_t letters = 1;
  one_.pigeons.on_close = [&] { letters = office_.waiting(0); };
  drive(one_, *sending);
  EXPECT_EQ(one_.pigeons.closed, 1);
  EXPECT_EQ(letters, 0u);
  EXPECT_EQ(office_.waiting(0), 1u);
}

TEST_F(MatcherTest, WhereNoLettersComeAnyMoreAllMatchesFailAndLaterOnesMayNot) {
  const auto receive = zero_.receive(1), wildcard = zero_.receive(any_rank, 5);
  const auto first = zero_.begin({receive.get()});
  const auto second = zero_.begin({wildcard.get()});
  zero_.mailbox.broken = true;
  EXPECT_THROW(zero_.matcher->finish(*first), Error);
  drive(zero_, *second);
  EXPECT_EQ(kind(*second), ErrorKind::mpi);
  EXPECT_TRUE(is_unmatched(*receive));
  zero_.mailbox.broken = false;
  const auto again = zero_.begin({receive.get()});
  const auto send = one_.send(0);
  one_.begin({send.get()});
  drive_both(zero_, *again, one_);
  EXPECT_TRUE(receive->matched());
}

TEST_F(MatcherTest, ARankThatLettersCannotReachFailsItsRequests) {
  const auto send = one_.send(0);
  const auto sending = one_.begin({send.get()});
  one_.mailbox.lost_ranks = {0};
  one_.mailbox.stuck = {0};
  drive(one_, *sending);
  EXPECT_EQ(kind(*sending), ErrorKind::mpi);
}

TEST_F(MatcherTest, AWithdrawalFreesAReceiveThatHasAnswered) {
  base::Settings hasty;
  hasty.timeout = milliseconds(1);
  Clerk sender(1, 3, office_, hasty);
  const auto send = sender.send(0);
  const auto sending = sender.begin({send.get()});
  const auto receive = zero_.receive(any_rank);
  const auto receiving = zero_.begin({receive.get()});  // answers
  sender.mailbox.broken = true;                         // the answer is not seen
  drive(sender, *sending);
  EXPECT_NE(kind(*sending), ErrorKind::none);
  const auto other = two_.send(0);
  two_.begin({other.get()});
  drive_both(zero_, *receiving, two_);
  EXPECT_EQ(receive->result().source, 2);
}

TEST_F(MatcherTest, ASenderThatCannotConnectHearsOfAReceiveThatWasGivenUp) {
  base::Settings hasty;
  hasty.timeout = milliseconds(1);
  Clerk receiver(0, 3, office_, hasty);
  one_.pigeons.connect = false;
  const auto send = one_.send(0);
  const auto sending = one_.begin({send.get()});
  const auto receive = receiver.receive(1);
  const auto receiving = receiver.begin({receive.get()});  // answers
  drive(receiver, *receiving);
  EXPECT_EQ(kind(*receiving), ErrorKind::timeout);
  drive_both(one_, *sending, receiver);
  EXPECT_EQ(kind(*sending), ErrorKind::timeout);
}

TEST_F(MatcherTest, ACallEndsOnlyWhenItsRefusalsHaveLeftUnlessTheirReaderIsDead) {
  for (const bool dies : {false, true}) {
    one_.pigeons.connect = false;
    const auto send = one_.send(0);
    const auto sending = one_.begin({send.get()});
    const auto receive = zero_.receive(1);
    zero_.mailbox.stuck = {1};
    const auto receiving = zero_.begin({receive.get()});
    one_.matcher->drive();  // cannot connect
    for (int round = 0; round < 10; ++round) zero_.matcher->drive();
    EXPECT_TRUE(is_unmatched(*receive)) << "refused by now";
    EXPECT_FALSE(receiving->finished);
    if (dies)
      zero_.world.kill(1);
    else
      zero_.mailbox.stuck = {};
    drive(zero_, *receiving);
    EXPECT_EQ(kind(*receiving), ErrorKind::transport);
    drive(one_, *sending);
  }
}

TEST_F(MatcherTest, APairIsSeenOnlyWhenItsLogLineIsDone) {
  const auto receive = zero_.receive(1), send = one_.send(0);
  int lines = 0;
  zero_.pigeons.on_path = one_.pigeons.on_path = [&] {
    ++lines;
    EXPECT_FALSE(receive->matched());
  };
  base::log::configure(base::LogLevel::info, "/dev/null");
  const auto receiving = zero_.begin({receive.get()});
  one_.begin({send.get()});
  drive_both(zero_, *receiving, one_);
  base::log::configure(base::LogLevel::warn, "");
  EXPECT_EQ(lines, 2);
  EXPECT_TRUE(receive->matched());
}

TEST_F(MatcherTest, AThreadOfItsOwnDrivesAndOutlivesErrors) {
  zero_.matcher->drive_from_own_thread();
  one_.matcher->drive_from_own_thread();
  const auto receive = zero_.receive(1);
  const auto awaited = [](const MatchJob& job) {
    while (!job.finished) std::this_thread::yield();
  };
  zero_.mailbox.broken = true;
  const auto failing = zero_.begin_unattended({receive.get()});
  awaited(*failing);
  EXPECT_EQ(kind(*failing), ErrorKind::mpi);
  zero_.mailbox.broken = false;
  for (int round = 0; round < 20; ++round) {  // it sleeps in between
    const auto in = zero_.receive(1), out = one_.send(0);
    const auto receiving = zero_.begin_unattended({in.get()});
    const auto sending = one_.begin_unattended({out.get()});
    awaited(*receiving);
    awaited(*sending);
    EXPECT_TRUE(in->matched() && out->matched());
  }
  EXPECT_FALSE(zero_.ended_too_early || one_.ended_too_early);
}

// As where there is no memory for it. The sender hands over no other send, so the receive would
// wait for ever.
TEST_F(MatcherTest, AnOfferThatCannotBeReadFailsTheReceiveThatItIsFor) {
  const auto send = one_.send(0, 1), receive = zero_.receive(1, 1), other = zero_.receive(1, 2);
  const auto receiving = zero_.begin({receive.get()}), waiting = zero_.begin({other.get()});
  const auto sending = one_.begin({send.get()});
  std::pair<int, Office::Letter> letter;
  ASSERT_TRUE(office_.take(0, letter));
  letter.second.resize(letter.second.size() - 1);
  office_.post(letter.first, 0, letter.second);
  drive_both(one_, *sending, zero_);
  drive(zero_, *receiving);
  EXPECT_EQ(kind(*sending), ErrorKind::internal);
  EXPECT_EQ(kind(*receiving), ErrorKind::internal);
  EXPECT_FALSE(waiting->finished);
}

TEST_F(MatcherTest, ALetterThatCannotBeReadFailsWhatItIsAbout) {
  // An offer, an answer and an acceptance end early; then one comes of which nothing can be told.
  const auto cut = [&](int to, std::size_t keep) {
    std::pair<int, Office::Letter> letter;
    ASSERT_TRUE(office_.take(to, letter));
    letter.second.resize(std::min(keep, letter.second.size()));
    office_.post(letter.first, to, letter.second);
  };
  constexpr std::size_t header = sizeof(std::uint8_t) + sizeof(std::uint64_t);
  const auto unread = one_.send(0, 1), unanswered = one_.send(0, 2), invited = one_.send(0, 3);
  const auto sending = one_.begin({unread.get()});
  cut(0, header + 2);
  drive_both(one_, *sending, zero_);
  EXPECT_EQ(kind(*sending), ErrorKind::internal);

  const auto answering = zero_.receive(1, 2);
  const auto receiving = zero_.begin({answering.get()});
  const auto waiting = one_.begin({unanswered.get()});
  zero_.matcher->drive();
  cut(1, header + 2);
  drive(one_, *waiting);
  EXPECT_EQ(kind(*waiting), ErrorKind::internal);
  EXPECT_FALSE(receiving->finished) << "it takes another send";
  const auto again = one_.begin({unanswered.get()});
  drive_both(zero_, *receiving, one_);
  drive_both(one_, *again, zero_);
  EXPECT_TRUE(answering->matched() && unanswered->matched());

  const auto inviting = zero_.receive(1, 3), named = zero_.receive(1, 4),
             open = zero_.receive(any_rank, 4);
  const auto left = zero_.leave({inviting.get()});
  one_.begin({invited.get()});
  cut(0, header + 6);
  drive(zero_, *left);
  EXPECT_EQ(kind(*left), ErrorKind::internal);

  const auto lost = zero_.begin({named.get()});
  const auto other = zero_.begin({open.get()});
  office_.post(1, 0, Office::Letter(3));
  drive(zero_, *lost);
  EXPECT_EQ(kind(*lost), ErrorKind::internal);
  EXPECT_FALSE(other->finished);
  const auto rescue = two_.send(0, 4);
  two_.begin({rescue.get()});
  drive_both(zero_, *other, two_);
  EXPECT_EQ(open->result().source, 2);
}

TEST_F(MatcherTest, WhatIsUnderWayAtTheEndFailsAtOnceAlthoughItsLettersHaveNotLeft) {
  const auto send = zero_.send(1), receive = zero_.receive(2);
  zero_.mailbox.stuck = {1};
  const auto job = zero_.begin({send.get(), receive.get()});
  zero_.matcher->give_up_matches("PST_Finalize");
  EXPECT_TRUE(job->finished);
  EXPECT_EQ(kind(*job), ErrorKind::not_matched);
  one_.matcher->drive();
  const auto other = one_.receive(0);
  const auto receiving = one_.begin({other.get()});
  EXPECT_FALSE(other->matched()) << "the offer has been withdrawn";
  one_.matcher->give_up_matches("PST_Finalize");
}

TEST_F(MatcherTest, TheEndWaitsForNoLettersToTheDeadOrTheLost) {
  zero_.mailbox.stuck = {1};
  zero_.world.kill(1);
  zero_.matcher->end_together();
  two_.mailbox.stuck = two_.mailbox.lost_ranks = {1};
  two_.matcher->end_together();
  base::Settings hasty;
  hasty.timeout = milliseconds(1);
  Clerk late(1, 3, office_, hasty);
  late.mailbox.stuck = {0};
  late.matcher->end_together();
}

TEST_F(MatcherTest, WhatIsNeverMatchedMayBeDeletedOnceTheThreadHasEnded) {
  ASSERT_FALSE(Matcher::under_way());
  zero_.matcher->drive_from_own_thread();
  auto receive = zero_.receive(1), wildcard = zero_.receive(any_rank);
  auto send = zero_.send(2);
  zero_.begin({receive.get(), wildcard.get(), send.get()});
  EXPECT_TRUE(Matcher::under_way());
  zero_.matcher->stop_driving();
  receive.reset();
  wildcard.reset();
  send.reset();
  zero_.matcher.reset();
  EXPECT_FALSE(Matcher::under_way());
}

// PST_Match(send) and then PST_Match(recv), on both ranks: each waits for the other's second call.
TEST_F(MatcherTest, WhatIsUnderWayIsDescribedWithThePeerAndWhatThatHasHandedToMatch) {
  EXPECT_EQ(zero_.matcher->describe(), "");
  base::Settings hasty;
  hasty.timeout = milliseconds(1);
  Clerk clerk(0, 3, office_, hasty);
  const auto send = clerk.send(1, 7), other = one_.send(0, 5, 24);
  const auto sending = clerk.begin({send.get()});
  const auto wanted = [](std::string_view text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  wanted(
      clerk.matcher->describe(),
      "match: send to rank 1 (tag 7, MPI_COMM_WORLD, 8 bytes) waits for its other half, for 0.0 s");
  one_.begin({other.get()});
  drive(clerk, *sending);
  EXPECT_EQ(kind(*sending), ErrorKind::timeout);
  wanted(sending->error->text(), "send to rank 1 (tag 7, MPI_COMM_WORLD, 8 bytes)");
  wanted(sending->error->text(), "neither rank waits for the other");
  EXPECT_EQ(clerk.matcher->describe(),
            "\n"
            "  match: rank 1 has handed a send of 24 bytes (tag 5) to match, "
            "which waits here for a receive of its communicator, source and tag");
  const auto receive = clerk.receive(1, 5);
  EXPECT_NO_THROW(clerk.begin({receive.get()}));
}

TEST_F(MatcherTest, ManyMatchesAreDescribedInFewLines) {
  std::vector<std::unique_ptr<MatchedRequest>> sends;
  for (int tag = 0; tag < 1000; ++tag) zero_.begin({sends.emplace_back(zero_.send(1, tag)).get()});
  const std::string text = zero_.matcher->describe();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 50);
  EXPECT_NE(text.find(" more"), std::string::npos) << text;
  zero_.matcher->give_up_matches("PST_Finalize");
}

}  // namespace
}  // namespace penstock::core::test
