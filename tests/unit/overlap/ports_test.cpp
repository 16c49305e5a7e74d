// SPDX-License-Identifier: Apache-2.0
// What a receiver tells a sender, whose program sleeps in a call that waits.
#include "overlap/ports.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace penstock::overlap {
namespace {

class OverlapPorts : public testing::Test {
 protected:
  static constexpr int processes = 3;
  struct Delete {
    void operator()(std::byte* block) const { ::operator delete (block, std::align_val_t{64}); }
  };

  OverlapPorts() { std::fill_n(block_.get(), Station::bytes_for(processes), std::byte{0}); }

  std::unique_ptr<std::byte, Delete> block_{static_cast<std::byte*>(
      ::operator new (Station::bytes_for(processes), std::align_val_t{64}))};
  Station sender_{block_.get(), processes};
};

TEST_F(OverlapPorts, WhoIsToldThatItsMessageIsNotReadWakesUp) {
  Arrival arrival;
  arrival.answer = &sender_.answer(5);
  arrival.announced.number = 7;
  sender_.dozing() = 1;
  refuse(sender_, arrival);
  EXPECT_EQ(sender_.dozing(), 0u);
  SentMessage port(sender_.answer(5));
  EXPECT_EQ(protocol::rget::told(port), answer_word(7, Answer::not_pulled));
}

TEST_F(OverlapPorts, WhoIsAwakeStaysSo) {
  Arrival arrival;
  arrival.answer = &sender_.answer(0);
  arrival.announced.number = 1;
  refuse(sender_, arrival);
  EXPECT_EQ(sender_.dozing(), 0u);
  SentMessage port(sender_.answer(0));
  EXPECT_EQ(protocol::rget::told(port), answer_word(1, Answer::not_pulled));
}

}  // namespace
}  // namespace penstock::overlap
