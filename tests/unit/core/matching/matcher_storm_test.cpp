// SPDX-License-Identifier: Apache-2.0
// Two processes hand sends and receives to match at random, read each other's letters late and a
// few at a time, decline invitations and give up what is under way, all in random order. Whatever
// happens, both ends agree on who is matched with whom, no send and receive that fit each other are
// left waiting, and afterwards nothing is counted that is gone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "core/matching/matcher.hpp"
#include "support/rounds.hpp"
#include "unit/core/matching/match_office.hpp"

namespace penstock::core::test {
namespace {

struct Weather {
  bool sends_give_up = false, receives_give_up = false;
  int wildcards = 0;  // of 8 receives
};

class Storm {
 public:
  Storm(unsigned seed, const Weather& weather) : weather_(weather), random_(seed) {
    zero_.pigeons.confirms = one_.pigeons.confirms = pick(8) == 0;
    zero_.pigeons.invites = pick(8) != 0;
  }

  void blow(int steps) {
    for (int step = 0; step < steps; ++step) act(pick(8));
    zero_.mailbox.most = one_.mailbox.most = std::numeric_limits<std::size_t>::max();
    one_.pigeons.accepts = true;
    settle();
  }

  void expect_agreement() {
    std::map<std::size_t, Half*> by_size;
    for (Half& send : sends_) by_size[send.request->recording().bytes] = &send;
    std::map<std::size_t, int> taken;
    int without_receive = 0, without_send = 0;
    for (Half& receive : receives_) {
      if (!receive.request->matched()) continue;
      const std::size_t bytes = receive.request->result().bytes;
      ASSERT_EQ(by_size.count(bytes), 1u) << "nobody has sent that";
      EXPECT_EQ(++taken[bytes], 1) << "two receives have the send of " << bytes << " bytes";
      without_send += by_size[bytes]->request->matched() ? 0 : 1;
      EXPECT_EQ(receive.request->result().tag, by_size[bytes]->request->recording().tag);
    }
    for (const auto& [bytes, send] : by_size)
      without_receive += send->request->matched() && !taken.count(bytes);
    EXPECT_EQ(without_receive, zero_.pigeons.closed)
        << "sends that are matched with nobody must hear so";
    EXPECT_EQ(without_send, one_.pigeons.closed)
        << "receives that are matched with nobody must hear so";
  }

  void expect_nobody_waits_for_one_who_waits() {
    for (const Half& receive : receives_)
      for (const Half& send : sends_) {
        const bool left = receive.waits() && send.waits() && fits(receive, send);
        EXPECT_FALSE(left) << send.request->recording().bytes << " bytes are not received";
      }
  }

  // A message takes the earliest receive that fits it. Where nobody gives up.
  void expect_the_order_of_mpi() {
    std::vector<const Half*> expected(receives_.size());
    for (const Half& send : sends_)
      for (std::size_t i = 0; i < receives_.size(); ++i) {
        if (expected[i] != nullptr || !fits(receives_[i], send)) continue;
        expected[i] = &send;
        break;
      }
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      ASSERT_EQ(receives_[i].request->matched(), expected[i] != nullptr) << "receive " << i;
      if (expected[i] != nullptr) {
        ASSERT_EQ(receives_[i].request->result().bytes, expected[i]->request->recording().bytes)
            << "receive " << i;
      }
    }
  }

  // Everything that waits is given up. Then each lane works as at first, without the receiver's
  // acting.
  void expect_a_clear_sky() {
    for (Half& receive : receives_) end_time(receive);
    for (Half& send : sends_) end_time(send);
    for (Half& receive : receives_) give_up(zero_, receive);
    for (Half& send : sends_) give_up(one_, send);
    settle();
    if (zero_.pigeons.confirms || !zero_.pigeons.invites) return;
    for (int tag = 0; tag < tags; ++tag) {
      const auto first = zero_.receive(1, tag, 100000), second = zero_.receive(1, tag, 100000);
      const auto one = one_.send(0, tag, 50001), two = one_.send(0, tag, 50002);
      zero_.leave({first.get(), second.get()});
      one_.begin({one.get()});
      one_.begin({two.get()});
      for (int round = 0; round < 5; ++round) one_.matcher->drive();
      ASSERT_TRUE(one->matched() && two->matched()) << "tag " << tag;
      settle();
      ASSERT_TRUE(first->matched() && second->matched()) << "tag " << tag;
      EXPECT_EQ(first->result().bytes, 50001u);
      EXPECT_EQ(second->result().bytes, 50002u);
    }
  }

 private:
  static constexpr int tags = 2;
  struct Half {
    std::unique_ptr<MatchedRequest> request;
    std::shared_ptr<MatchJob> job;
    bool waits() const { return job->open.count(request.get()) != 0; }
  };

  int pick(unsigned below) { return static_cast<int>(random_() % below); }

  static bool fits(const Half& receive, const Half& send) {
    const int tag = receive.request->recording().tag;
    return tag == any_tag || tag == send.request->recording().tag;
  }

  void act(int what) {
    Clerk& clerk = pick(2) != 0 ? zero_ : one_;
    switch (what) {
      case 0:
      case 1:
        return begin(one_, sends_, [&] { return one_.send(0, pick(tags), 10 + ++size_); });
      case 2:
      case 3:
        return begin(zero_, receives_, [&] {
          const bool open = pick(8) < weather_.wildcards;
          return zero_.receive(open && pick(2) != 0 ? any_rank : 1,
                               open && pick(2) != 0 ? any_tag : pick(tags), 100000);
        });
      case 4:
        clerk.mailbox.most = static_cast<std::size_t>(pick(4));
        return;
      case 5:
        one_.pigeons.accepts = pick(4) != 0;
        return;
      case 6:
        if (&clerk == &zero_ ? weather_.receives_give_up : weather_.sends_give_up)
          give_up_one(clerk, &clerk == &zero_ ? receives_ : sends_);
        return;
      default:
        clerk.matcher->drive();
    }
  }

  template <class Make>
  void begin(Clerk& clerk, std::deque<Half>& halves, Make&& make) {
    std::vector<MatchedRequest*> requests;
    const std::size_t first = halves.size();
    for (int count = 1 + pick(3); count > 0; --count) {
      halves.push_back({make(), nullptr});
      requests.push_back(halves.back().request.get());
    }
    const auto job = clerk.matcher->prepare(requests);
    job->leaves = pick(3) != 0;
    for (std::size_t i = first; i < halves.size(); ++i) halves[i].job = job;
    clerk.matcher->begin(job);
  }

  void give_up_one(Clerk& clerk, std::deque<Half>& halves) {
    std::vector<Half*> waiting;
    for (Half& half : halves)
      if (half.waits()) waiting.push_back(&half);
    if (!waiting.empty())
      give_up(clerk,
              *waiting[static_cast<std::size_t>(pick(static_cast<unsigned>(waiting.size())))]);
  }

  static void end_time(Half& half) { half.job->deadline = std::chrono::steady_clock::time_point{}; }

  // No letter is read meanwhile.
  static void give_up(Clerk& clerk, Half& half) {
    clerk.mailbox.deaf = true;
    end_time(half);
    while (half.waits()) {
      clerk.matcher->drive();
      std::this_thread::yield();
    }
    clerk.mailbox.deaf = false;
  }

  void settle() {
    for (int round = 0; round < 12; ++round) {
      zero_.matcher->drive();
      one_.matcher->drive();
    }
  }

  Weather weather_;
  std::mt19937 random_;
  Office office_;
  Clerk zero_{0, 2, office_}, one_{1, 2, office_};
  std::deque<Half> sends_, receives_;
  std::size_t size_ = 0;
};

void endure(const Weather& weather, unsigned seeds) {
  if (std::getenv("PENSTOCK_TEST_LONG") != nullptr) seeds *= 50;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Storm storm(seed, weather);
    storm.blow(60);
    storm.expect_agreement();
    storm.expect_nobody_waits_for_one_who_waits();
    if (!weather.sends_give_up && !weather.receives_give_up) storm.expect_the_order_of_mpi();
    if (weather.wildcards == 0) storm.expect_a_clear_sky();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(MatcherStorm, NobodyGivesUp) {
  endure({.wildcards = 0}, 50);
  endure({.wildcards = 2}, penstock::test::fewer_rounds(1000u, 5u));
}

TEST(MatcherStorm, ReceivesGiveUp) {
  endure({.receives_give_up = true}, 30);
}

TEST(MatcherStorm, SendsGiveUp) {
  endure({.sends_give_up = true}, 30);
}

TEST(MatcherStorm, BothGiveUp) {
  endure({.sends_give_up = true, .receives_give_up = true, .wildcards = 0}, 30);
  endure({.sends_give_up = true, .receives_give_up = true, .wildcards = 2}, 30);
}

}  // namespace
}  // namespace penstock::core::test
