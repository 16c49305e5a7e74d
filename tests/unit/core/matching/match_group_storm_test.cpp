// SPDX-License-Identifier: Apache-2.0
// Three processes match collectives in random orders, read each other's letters late and a few at a
// time, and give up what is under way. Whatever happens, a collective that nobody gives up is
// matched on all, one that all hand over again is matched on all, and nothing waits for what will
// not come.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <new>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "core/matching/matcher.hpp"
#include "support/rounds.hpp"
#include "unit/core/matching/match_office.hpp"

namespace penstock::core::test {
namespace {

constexpr int members = 3;
const std::vector<int> all_members{0, 1, 2};

class NoPlan final : public transport::Plan {
 public:
  explicit NoPlan(std::vector<std::unique_ptr<transport::Plan>> ends) : ends_(std::move(ends)) {}
  void check_stream(const device::Stream&) const override {}
  void start(device::Stream&, transport::Sink&) override {}
  void wait(device::Stream&, transport::Sink&) override {}
  void hand_over(device::Stream*, device::Stream&) override {}
  void close(device::Stream&, void (*)(void*), void*) override {}
  void close() override {
    for (const auto& end : ends_) end->close();
  }
  transport::PairState pair_state(transport::Epoch) const noexcept override {
    return transport::PairState::serves;
  }
  void cancel_wait(const Error&) noexcept override {}
  std::string describe() const override { return ""; }
  std::string path() const override { return ""; }

 private:
  std::vector<std::unique_ptr<transport::Plan>> ends_;
};

struct Chosen {
  std::uint32_t number;
  bool again;  // another one had been chosen before
};

// What has become of the parts of one choice. Where somebody has a plan, it uses what the others
// share with it: nobody's part has ended without a word.
struct Parts {
  int plans = 0, silent = 0;
};
std::map<std::uint32_t, Parts> parts_of;  // by the number of the choice
std::uint32_t choices = 0;
bool no_memory_for_an_offer = false, no_memory_for_a_plan = false;  // for the next one
// So many of the next parts cannot be prepared: of first choices, and of those after a failed one.
unsigned parts_to_fail[2] = {0, 0};

// Each member sends to each of the others, twice.
class AllToAll final : public CollectivePart {
 public:
  AllToAll(int rank, Parts& parts) : parts_(parts) {
    for (const auto direction : {transport::Direction::receive, transport::Direction::send})
      for (int tag = 0; tag < 2; ++tag)
        for (int peer = 0; peer < members; ++peer)
          if (peer != rank) messages_.push_back({direction, peer, tag, nullptr, 8});
  }
  const std::vector<CollectiveMessage>& messages() const noexcept override { return messages_; }
  ~AllToAll() override {
    if (!told_) ++parts_.silent;
  }
  std::string algorithm() const override { return "pigeons"; }
  void close() noexcept override { told_ = true; }
  std::unique_ptr<transport::Plan> make_plan(
      std::vector<std::unique_ptr<transport::Plan>>&& ends) override {
    if (std::exchange(no_memory_for_a_plan, false)) throw std::bad_alloc();
    told_ = true;
    ++parts_.plans;
    return std::make_unique<NoPlan>(std::move(ends));
  }

 private:
  Parts& parts_;
  bool told_ = false;
  std::vector<CollectiveMessage> messages_;
};

class OfficeOffer final : public CollectiveOffer {
 public:
  OfficeOffer(int rank, int count) : rank_(rank), count_(count) {}
  transport::WireRecord record() const override {
    return {static_cast<std::byte>(rank_), static_cast<std::byte>(count_)};
  }
  std::unique_ptr<CollectivePart> prepare(const transport::WireRecord& choice) override {
    LetterReader letter(choice);
    const auto [number, again] = letter.value<Chosen>();
    if (parts_to_fail[again] > 0 && parts_to_fail[again]-- > 0)
      throw Error(ErrorKind::resources, "no memory for choice " + std::to_string(number));
    return std::make_unique<AllToAll>(rank_, parts_of[number]);
  }

 private:
  const int rank_, count_;
};

class OfficeCollective final : public Collective {
 public:
  OfficeCollective(int rank, std::uint64_t number, int count)
      : rank_(rank), id_{number, number * 7919}, count_(count) {}
  std::string label() const override { return "collective " + std::to_string(id_.high); }
  group::CommunicatorId id() const noexcept override { return id_; }
  std::uint64_t turn() const noexcept override { return id_.high; }
  int rank() const noexcept override { return rank_; }
  const std::vector<int>& members() const noexcept override { return all_members; }
  std::unique_ptr<CollectiveOffer> offer() const override {
    if (std::exchange(no_memory_for_an_offer, false)) throw std::bad_alloc();
    return std::make_unique<OfficeOffer>(rank_, count_);
  }
  // At the second time, too, as a collective does whose first choice was a direct exchange.
  transport::WireRecord choose(std::span<const transport::WireRecord> told,
                               const FailedChoice* failed) const override {
    if (failed != nullptr && LetterReader(failed->choice).value<Chosen>().again) throw failed->why;
    for (std::size_t rank = 0; rank < told.size(); ++rank) {
      EXPECT_EQ(told[rank].at(0), static_cast<std::byte>(rank));
      if (told[rank].at(1) != told[0].at(1)) throw Error(ErrorKind::truncate, "counts differ");
    }
    return LetterWriter().value(Chosen{++choices, failed != nullptr}).take();
  }

 private:
  const int rank_;
  const group::CommunicatorId id_;
  const int count_;
};

std::unique_ptr<MatchedRequest> collective(int rank, std::uint64_t number, int count = 1) {
  auto communicator = std::make_shared<group::Communicator>();
  communicator->known = true;
  communicator->rank = rank;
  communicator->name = "MPI_COMM_WORLD";
  Recording recording;
  recording.kind = RequestKind::collective;
  recording.communicator = std::move(communicator);
  recording.collective = std::make_shared<OfficeCollective>(rank, number, count);
  return std::make_unique<MatchedRequest>(std::move(recording));
}

class GroupStorm {
 public:
  GroupStorm(unsigned seed, bool give_up)
      : gives_up_(give_up), parts_fail_(seed % 2 == 1), random_(seed) {
    for (Clerk* clerk : clerks_) clerk->pigeons.confirms = seed % 3 == 0;
    for (int rank = 0; rank < members; ++rank)
      for (std::uint64_t number = 1; number <= collectives; ++number)
        own_[rank].push_back({collective(rank, number), nullptr});
  }

  void blow(int steps) {
    for (int step = 0; step < steps; ++step) act(pick(6), pick(members));
    for (Clerk* clerk : clerks_) clerk->mailbox.most = std::numeric_limits<std::size_t>::max();
    settle();
  }

  // What nobody has by now is matched when all hand it over. Where somebody has it alone, others
  // have given up when all were ready: these hear nothing more.
  void expect_the_rest_to_match() {
    parts_to_fail[0] = parts_to_fail[1] = 0;
    std::vector<int> had(collectives);
    for (std::size_t i = 0; i < collectives; ++i) had[i] = matched(i);
    for (int rank = 0; rank < members; ++rank) begin_all(rank);
    settle();
    for (std::size_t i = 0; i < collectives; ++i) {
      const bool may_miss = had[i] != 0 && gives_up_;
      EXPECT_TRUE(matched(i) == members || may_miss)
          << "collective " << i << " was matched on " << had[i] << ", now on " << matched(i);
    }
  }

  void expect_nothing_to_wait() {
    for (int rank = 0; rank < members; ++rank) {
      for (Own& own : own_[rank])
        if (own.waits()) own.job->deadline = std::chrono::steady_clock::time_point{};
      while (std::any_of(own_[rank].begin(), own_[rank].end(),
                         [](const Own& own) { return own.waits(); })) {
        clerks_[rank]->matcher->drive();
        std::this_thread::yield();
      }
    }
    settle();
    EXPECT_FALSE(Matcher::under_way());
    for (const Clerk* clerk : clerks_) EXPECT_EQ(clerk->pigeons.offers, 0);
  }

  static void expect_nothing_shared_to_be_lost() {
    for (const auto& [choice, parts] : parts_of)
      EXPECT_TRUE(parts.plans == 0 || parts.silent == 0)
          << "choice " << choice << ": " << parts.plans << " have plans, and " << parts.silent
          << " have ended without a word";
  }

 private:
  static constexpr std::size_t collectives = 4;
  struct Own {
    std::unique_ptr<MatchedRequest> request;
    std::shared_ptr<MatchJob> job;
    bool waits() const { return job && job->open.count(request.get()) != 0; }
    bool free() const { return !request->matched() && !request->match_under_way(); }
  };

  int pick(unsigned below) { return static_cast<int>(random_() % below); }
  int matched(std::size_t which) const {
    return static_cast<int>(std::count_if(std::begin(own_), std::end(own_), [&](const auto& own) {
      return own[which].request->matched();
    }));
  }

  void act(int what, int rank) {
    Clerk& clerk = *clerks_[rank];
    for (unsigned& parts : parts_to_fail) parts = parts_fail_ && pick(8) == 0 ? 1 : 0;
    switch (what) {
      case 0:
        return begin(rank, {static_cast<std::size_t>(pick(collectives))});
      case 1:
        clerk.mailbox.most = static_cast<std::size_t>(pick(4));
        return;
      case 2:
        if (gives_up_ && pick(3) == 0) give_up(rank);
        return;
      default:
        clerk.matcher->drive();
    }
  }

  void begin(int rank, const std::vector<std::size_t>& which) {
    std::vector<MatchedRequest*> requests;
    for (const std::size_t each : which)
      if (own_[rank][each].free()) requests.push_back(own_[rank][each].request.get());
    if (requests.empty()) return;
    const auto job = clerks_[rank]->matcher->prepare(requests);
    for (const std::size_t each : which)
      if (job->open.count(own_[rank][each].request.get()) != 0) own_[rank][each].job = job;
    clerks_[rank]->matcher->begin(job);
  }

  void begin_all(int rank) {
    std::vector<std::size_t> all(collectives);
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::shuffle(all.begin(), all.end(), random_);
    begin(rank, all);
  }

  // No letter is read meanwhile.
  void give_up(int rank) {
    std::vector<Own*> waiting;
    for (Own& own : own_[rank])
      if (own.waits()) waiting.push_back(&own);
    if (waiting.empty()) return;
    Own& own = *waiting[static_cast<std::size_t>(pick(static_cast<unsigned>(waiting.size())))];
    clerks_[rank]->mailbox.deaf = true;
    own.job->deadline = std::chrono::steady_clock::time_point{};
    while (own.waits()) {
      clerks_[rank]->matcher->drive();
      std::this_thread::yield();
    }
    clerks_[rank]->mailbox.deaf = false;
  }

  void settle() {
    for (int round = 0; round < 40; ++round)
      for (Clerk* clerk : clerks_) clerk->matcher->drive();
  }

  const bool gives_up_, parts_fail_;
  std::mt19937 random_;
  Office office_;
  Clerk zero_{0, members, office_}, one_{1, members, office_}, two_{2, members, office_};
  Clerk* const clerks_[members] = {&zero_, &one_, &two_};
  std::vector<Own> own_[members];
};

void endure(bool give_up, unsigned seeds) {
  if (std::getenv("PENSTOCK_TEST_LONG") != nullptr) seeds *= 50;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GroupStorm storm(seed, give_up);
    storm.blow(200);
    storm.expect_the_rest_to_match();
    storm.expect_nothing_to_wait();
    GroupStorm::expect_nothing_shared_to_be_lost();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(MatchGroupStorm, NobodyGivesUp) {
  endure(false, penstock::test::fewer_rounds(300u, 5u));
}

TEST(MatchGroupStorm, SomeGiveUp) {
  endure(true, penstock::test::fewer_rounds(100u, 5u));
}

// Three members, each with one collective of that number.
class Three {
 public:
  void begin(int rank, std::uint64_t number, int count = 1) {
    const auto place = static_cast<std::size_t>(rank);
    requests[place] = collective(rank, number, count);
    jobs[place] = clerks_[place]->begin({requests[place].get()});
  }
  void begin_all(std::uint64_t number) {
    for (int rank = 0; rank < members; ++rank) begin(rank, number);
  }
  void drive() {
    for (int round = 0; round < 30; ++round)
      for (Clerk* clerk : clerks_) clerk->matcher->drive();
  }
  void expect_failed(int rank, ErrorKind kind) const {
    const auto place = static_cast<std::size_t>(rank);
    ASSERT_TRUE(jobs[place]->error) << rank;
    EXPECT_EQ(jobs[place]->error->kind(), kind);
    EXPECT_TRUE(is_unmatched(*requests[place]));
  }
  bool all_matched() const {
    return std::all_of(requests.begin(), requests.end(),
                       [](const auto& request) { return request->matched(); });
  }

 private:
  Office office_;

 public:
  Clerk zero{0, members, office_}, one{1, members, office_}, two{2, members, office_};
  std::array<std::unique_ptr<MatchedRequest>, members> requests;
  std::array<std::shared_ptr<MatchJob>, members> jobs;

 private:
  const std::array<Clerk*, members> clerks_{&zero, &one, &two};
};

// One cause on all, and the next attempt is free.
TEST(MatchGroup, MembersThatDifferFailAlike) {
  Three all;
  for (int rank = 0; rank < members; ++rank) all.begin(rank, 9, rank == 2 ? 5 : 4);
  all.drive();
  for (int rank = 0; rank < members; ++rank) all.expect_failed(rank, ErrorKind::truncate);
}

// The others have theirs, and hear of it by each message.
TEST(MatchGroup, AMemberWithoutMemoryForItsPlanClosesWhatOthersUse) {
  Three all;
  all.begin_all(10);
  no_memory_for_a_plan = true;  // member 0 hears the verdict first
  all.drive();
  ASSERT_TRUE(all.jobs[0]->error);
  EXPECT_EQ(all.jobs[0]->error->kind(), ErrorKind::resources);
  EXPECT_TRUE(all.requests[1]->matched() && all.requests[2]->matched());
  EXPECT_EQ(all.zero.pigeons.closed, 8) << "two messages from and to each of the others";
}

// Those who wait for it hear why, and the next attempt is free.
TEST(MatchGroup, AMemberThatCannotJoinFailsThoseWhoHave) {
  Three all;
  all.begin(0, 12);
  all.begin(1, 12);
  all.drive();
  EXPECT_FALSE(all.jobs[0]->finished || all.jobs[1]->finished);
  no_memory_for_an_offer = true;
  all.begin(2, 12);
  all.drive();
  for (int rank = 0; rank < members; ++rank) all.expect_failed(rank, ErrorKind::resources);
  all.begin_all(12);
  all.drive();
  EXPECT_TRUE(all.all_matched());
}

// A choice that a member cannot carry out is followed by another, on all; the last one by its
// reason.
TEST(MatchGroup, WhatAMemberCannotCarryOutIsChosenAnew) {
  for (const auto& [first, again] : {std::pair{1u, 0u}, {3u, 0u}, {1u, 1u}, {2u, 3u}}) {
    SCOPED_TRACE(std::to_string(first) + " and " + std::to_string(again));
    Three all;
    all.begin_all(11);
    parts_to_fail[0] = first;
    parts_to_fail[1] = again;
    const std::uint32_t before = choices;
    all.drive();
    parts_to_fail[0] = parts_to_fail[1] = 0;
    EXPECT_EQ(choices - before, 2u);
    EXPECT_EQ(all.all_matched(), again == 0);
    for (int rank = 0; rank < members && again != 0; ++rank) {
      all.expect_failed(rank, ErrorKind::resources);
      EXPECT_EQ(all.jobs[static_cast<std::size_t>(rank)]->error->text(),
                "no memory for choice " + std::to_string(choices));
    }
  }
}

// A member dies between its Join and the verdict: the others hear of it by themselves.
TEST(MatchGroup, AMemberThatDiesFailsTheOthers) {
  Three all;
  for (std::uint64_t number = 20; number < 27; ++number) {
    all.begin_all(number);
    all.drive();
    EXPECT_TRUE(all.all_matched());
  }
  all.begin_all(27);
  all.zero.world.kill(2);
  all.one.world.kill(2);
  while (!all.jobs[0]->finished || !all.jobs[1]->finished) {
    all.zero.matcher->drive();
    all.one.matcher->drive();
  }
  for (const int rank : {0, 1}) all.expect_failed(rank, ErrorKind::peer_dead);
  all.jobs[2]->deadline = std::chrono::steady_clock::time_point{};
  while (!all.jobs[2]->finished) all.two.matcher->drive();
}

}  // namespace
}  // namespace penstock::core::test
