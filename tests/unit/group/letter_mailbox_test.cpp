// SPDX-License-Identifier: Apache-2.0
// What a mailbox makes of a carrier that is slow, fails, or brings a long letter late.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "group/carrier.hpp"
#include "group/mailbox.hpp"

namespace penstock::group {
namespace {

using Bytes = std::vector<std::byte>;

// Does as it is told.
class TestCarrier final : public Carrier {
 public:
  struct Told {
    std::map<int, bool> takes;     // by rank; those that are not here take at once
    std::map<int, bool> fails;     // sends to these fail
    std::map<Transfer, int> sent;  // to whom, and not taken yet
    std::map<int, int> tests;      // of sends, by rank
    std::vector<std::pair<int, Bytes>> carried;
    std::deque<std::pair<int, Bytes>> arriving;
    std::map<Transfer, bool> arrived;  // of receives: whether the bytes are here
    bool late = false;                 // the next one that is found is on its way
    int abandoned = 0;
  };
  explicit TestCarrier(Told& told) : told_(told) {}

  int ranks() const override { return 4; }
  Step send(int rank, std::span<const std::byte> bytes, Transfer& transfer) noexcept override {
    if (told_.fails.count(rank) != 0) return {false, "a send", 7};
    told_.carried.emplace_back(rank, Bytes(bytes.begin(), bytes.end()));
    if (told_.takes.count(rank) == 0) return {true, nullptr, 0};
    transfer = ++last_;
    told_.sent[transfer] = rank;
    return {};
  }
  Step test(Transfer& transfer) noexcept override {
    if (const auto receive = told_.arrived.find(transfer); receive != told_.arrived.end())
      return {receive->second, nullptr, 0};
    const int rank = told_.sent.at(transfer);
    ++told_.tests[rank];
    if (!told_.takes[rank]) return {};
    told_.sent.erase(transfer);
    return {true, nullptr, 0};
  }
  std::optional<Arrival> find() override {
    if (told_.arriving.empty()) return std::nullopt;
    auto [rank, bytes] = std::move(told_.arriving.front());
    told_.arriving.pop_front();
    found_[++last_] = bytes;
    return Arrival{rank, bytes.size(), last_};
  }
  Step receive(const Arrival& arrival, std::span<std::byte> bytes,
               Transfer& transfer) noexcept override {
    const Bytes& found = found_.at(arrival.announced);
    std::copy(found.begin(), found.end(), bytes.begin());
    transfer = arrival.announced;
    told_.arrived[transfer] = !std::exchange(told_.late, false);
    return {told_.arrived[transfer], nullptr, 0};
  }
  void abandon(Transfer) noexcept override { ++told_.abandoned; }
  std::string text_of(int code) const override { return "code " + std::to_string(code); }

 private:
  Told& told_;
  std::map<Announced, Bytes> found_;
  Transfer last_ = 0;
};

class LetterMailboxTest : public ::testing::Test {
 protected:
  static Bytes letter(std::size_t size, int value) { return Bytes(size, std::byte(value)); }
  // What another mailbox would have sent.
  Bytes bundle_of(const std::vector<Bytes>& letters) {
    TestCarrier::Told told;
    const auto other = Mailbox::open(std::make_unique<TestCarrier>(told));
    for (const Bytes& each : letters) other->send(0, each);
    other->hand_over();
    EXPECT_EQ(told.carried.size(), 1u);
    return told.carried.front().second;
  }
  bool poll() {
    return mailbox_->poll([this](int rank, std::span<const std::byte> bytes) {
      read_.emplace_back(rank, Bytes(bytes.begin(), bytes.end()));
    });
  }

  TestCarrier::Told told_;
  std::unique_ptr<Mailbox> mailbox_ = Mailbox::open(std::make_unique<TestCarrier>(told_));
  std::vector<std::pair<int, Bytes>> read_;
};

TEST_F(LetterMailboxTest, LettersTravelTogetherAndArriveInOrder) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(mailbox_->send(1, letter(100, i)), i + 1u);
  mailbox_->dispatch();
  ASSERT_EQ(told_.carried.size(), 1u);
  told_.arriving.push_back(told_.carried.front());
  EXPECT_TRUE(poll());
  ASSERT_EQ(read_.size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(read_[static_cast<std::size_t>(i)].second, letter(100, i));
  EXPECT_FALSE(poll());
}

// However many a rank has not taken, a poll asks for the first.
TEST_F(LetterMailboxTest, APollTestsOneSendOfEachRank) {
  told_.takes = {{1, false}, {2, false}};
  for (int i = 0; i < 50; ++i)
    for (const int rank : {1, 2}) mailbox_->send(rank, letter(3000, i));
  mailbox_->hand_over();
  ASSERT_EQ(told_.sent.size(), 100u);
  EXPECT_FALSE(poll());
  EXPECT_EQ(told_.tests[1], 1);
  EXPECT_EQ(told_.tests[2], 1);
  EXPECT_FALSE(mailbox_->flushed(1, 1));
  told_.takes[1] = true;
  EXPECT_TRUE(poll());
  EXPECT_TRUE(mailbox_->flushed(1, 50));
  EXPECT_FALSE(mailbox_->flushed(2, 1));
  EXPECT_FALSE(mailbox_->all_flushed());
  told_.takes[2] = true;
  poll();
  EXPECT_TRUE(mailbox_->all_flushed());
}

TEST_F(LetterMailboxTest, FewSendsToARankAreWithTheCarrierAtOnce) {
  told_.takes = {{1, false}};
  for (int i = 0; i < 50; ++i) mailbox_->send(1, letter(3000, i));
  mailbox_->send(2, letter(3000, 0));
  mailbox_->dispatch();
  EXPECT_EQ(told_.sent.size(), 16u);
  EXPECT_EQ(told_.carried.back().first, 2) << "another rank has to wait";
  EXPECT_TRUE(mailbox_->flushed(2, 1));
  told_.takes[1] = true;
  for (int polls = 0; polls < 4; ++polls) poll();
  EXPECT_TRUE(mailbox_->flushed(1, 50));
  EXPECT_EQ(told_.carried.size(), 51u);
}

// A long letter holds back those of its sender, in their order, and nobody else's.
TEST_F(LetterMailboxTest, ALateLetterHoldsBackThoseBehindIt) {
  told_.late = true;
  told_.arriving.emplace_back(1, bundle_of({letter(5000, 1)}));
  told_.arriving.emplace_back(1, bundle_of({letter(10, 2)}));
  told_.arriving.emplace_back(2, bundle_of({letter(10, 3)}));
  told_.arriving.emplace_back(1, bundle_of({letter(10, 4)}));
  EXPECT_TRUE(poll());
  ASSERT_EQ(read_.size(), 1u);
  EXPECT_EQ(read_[0], (std::pair{2, letter(10, 3)}));
  EXPECT_FALSE(poll());
  for (auto& [transfer, here] : told_.arrived) here = true;
  EXPECT_TRUE(poll());
  ASSERT_EQ(read_.size(), 4u);
  EXPECT_EQ(read_[1], (std::pair{1, letter(5000, 1)}));
  EXPECT_EQ(read_[2], (std::pair{1, letter(10, 2)}));
  EXPECT_EQ(read_[3], (std::pair{1, letter(10, 4)}));
}

TEST_F(LetterMailboxTest, ARankThatASendHasFailedToIsLost) {
  told_.fails = {{1, true}};
  mailbox_->send(1, letter(10, 1));
  mailbox_->send(2, letter(10, 2));
  EXPECT_FALSE(mailbox_->any_lost());
  mailbox_->dispatch();
  EXPECT_TRUE(mailbox_->lost(1));
  EXPECT_FALSE(mailbox_->lost(2));
  EXPECT_TRUE(mailbox_->flushed(1, 100)) << "nobody waits for letters to it";
  mailbox_->send(1, letter(10, 3));
  EXPECT_TRUE(mailbox_->all_flushed());
  told_.arriving.emplace_back(1, bundle_of({letter(10, 4)}));
  poll();
  EXPECT_TRUE(read_.empty()) << "its letters mean nothing any more";
}

TEST_F(LetterMailboxTest, AReaderThatThrowsLosesTheSenderAlone) {
  told_.arriving.emplace_back(1, bundle_of({letter(10, 1), letter(10, 2)}));
  told_.arriving.emplace_back(2, bundle_of({letter(10, 3)}));
  int reads = 0;
  mailbox_->poll([&](int rank, std::span<const std::byte>) {
    ++reads;
    if (rank == 1) throw base::Error(base::ErrorKind::internal, "unreadable");
  });
  EXPECT_EQ(reads, 2);
  EXPECT_TRUE(mailbox_->lost(1));
  EXPECT_FALSE(mailbox_->lost(2));
}

}  // namespace
}  // namespace penstock::group
