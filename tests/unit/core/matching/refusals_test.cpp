// SPDX-License-Identifier: Apache-2.0
#include "core/matching/refusals.hpp"

#include <gtest/gtest.h>

namespace penstock::core {
namespace {

using base::Error;
using base::ErrorKind;

const Refusal unreachable{"peer", Error(ErrorKind::transport, "another host")};
const Refusal full{"peer", Error(ErrorKind::resources, "/dev/shm is full")};
const Refusal unsupported{"ofi", Error(ErrorKind::unsupported, "has holes")};
const Refusal too_low{"proxy", Error(ErrorKind::thread_level, "MPI_THREAD_SINGLE")};

TEST(Refusals, WantOfResourcesIsTheCauseOnWhicheverSide) {
  EXPECT_EQ(kind_of({full, too_low}, {too_low}), ErrorKind::resources);
  EXPECT_EQ(kind_of({too_low}, {full, too_low}), ErrorKind::resources);
}

TEST(Refusals, ElseTheLastTransportSaysWhatItIs) {
  EXPECT_EQ(kind_of({unreachable, unsupported, too_low}, {}), ErrorKind::thread_level);
  EXPECT_EQ(kind_of({}, {unreachable, unsupported}), ErrorKind::unsupported);
  EXPECT_EQ(kind_of({too_low}, {unreachable}), ErrorKind::thread_level);
  EXPECT_EQ(kind_of({unreachable}, {}), ErrorKind::transport);
}

TEST(Refusals, TravelAsTheyAre) {
  LetterWriter writer;
  write_refusals(writer, {full, too_low});
  const auto letter = writer.take();
  LetterReader reader(letter);
  const Refusals read = read_refusals(reader);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].transport, "peer");
  EXPECT_EQ(read[0].why.kind(), ErrorKind::resources);
  EXPECT_EQ(read[0].why.text(), "/dev/shm is full");
  EXPECT_EQ(read[1].why.kind(), ErrorKind::thread_level);
}

}  // namespace
}  // namespace penstock::core
