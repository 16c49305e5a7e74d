// SPDX-License-Identifier: Apache-2.0
// The file of PENSTOCK_TUNE: which entry fits, and what is wrong with one.
#include "coll/tuning.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace penstock::coll {
namespace {

std::string entry(const std::string& bytes, const std::string& algorithm,
                  const std::string& rest = "") {
  return fmt::format(R"({{"collective": "alltoall", "memory": "host", "ranks": 8, "nodes": 2,
                          "ranks_a_node": 4, "up_to_bytes": {}, "algorithm": "{}"{}}})",
                     bytes, algorithm, rest);
}

std::string file_of(const std::string& entries) {
  return R"({"measured_on": {"mpi": "any"}, "entries": [)" + entries + "]}";
}

constexpr TuningKey key{CollectiveKind::alltoall, false, 8, 2, 4, 0};

TuningKey of_bytes(std::size_t bytes) {
  TuningKey of = key;
  of.bytes = bytes;
  return of;
}

TEST(Tuning, TheSmallestBoundThatHoldsFits) {
  const Tuning tuning(file_of(entry("4096", "pairwise:2") + "," + entry("64", "multileader:2") +
                              "," + entry("0", "direct")));
  EXPECT_EQ(tuning.wish(of_bytes(0)), "direct");
  EXPECT_EQ(tuning.wish(of_bytes(1)), "multileader:2");
  EXPECT_EQ(tuning.wish(of_bytes(64)), "multileader:2");
  EXPECT_EQ(tuning.wish(of_bytes(65)), "pairwise:2");
  EXPECT_EQ(tuning.wish(of_bytes(4096)), "pairwise:2");
  EXPECT_EQ(tuning.wish(of_bytes(4097)), "");
}

TEST(Tuning, CollectivesWithEntriesAreNamedOnce) {
  const Tuning tuning(file_of(entry("4096", "pairwise:2") + "," + entry("64", "multileader:2")));
  EXPECT_EQ(tuning.collectives(), std::vector<std::string>{"alltoall"});
  EXPECT_TRUE(Tuning().collectives().empty());
}

TEST(Tuning, AnEntryIsForItsPlaceAlone) {
  const Tuning tuning(file_of(entry("64", "pairwise")));
  TuningKey other = key;
  other.collective = CollectiveKind::allgather;
  EXPECT_EQ(tuning.wish(other), "");
  other = key;
  other.on_gpu = true;
  EXPECT_EQ(tuning.wish(other), "");
  for (int TuningKey::*number : {&TuningKey::ranks, &TuningKey::nodes, &TuningKey::node_ranks})
    for (const int more : {-1, 1}) {
      other = key;
      other.*number += more;
      EXPECT_EQ(tuning.wish(other), "");
    }
  EXPECT_EQ(tuning.wish(key), "pairwise");
  EXPECT_EQ(Tuning().wish(key), "");
}

// Whatever the nodes, and by the bytes where an entry fits them.
TEST(Tuning, SaysWhatMayBeTakenWithoutMessages) {
  const Tuning tuning(file_of(entry("64", "direct") + "," + entry("128", "pairwise") + "," +
                              entry("256", "put-lock")));
  const auto wish = [&](std::size_t bytes) {
    return tuning.direct_wish(CollectiveKind::alltoall, false, 8, bytes);
  };
  EXPECT_EQ(wish(0), "direct");
  EXPECT_EQ(wish(64), "direct");
  EXPECT_EQ(wish(65), "direct");
  EXPECT_EQ(wish(129), "put-lock");
  EXPECT_EQ(wish(257), "direct");
  EXPECT_EQ(tuning.direct_wish(CollectiveKind::alltoall, true, 8, 8), "");
  EXPECT_EQ(tuning.direct_wish(CollectiveKind::alltoall, false, 4, 8), "");
  EXPECT_EQ(tuning.direct_wish(CollectiveKind::allgather, false, 8, 8), "");
}

// Of blocks that differ rank 0's stand for all.
TEST(Tuning, AKeyHasTheMeanOfUnequalBlocks) {
  Shape shape;
  shape.ranks = 3;
  shape.node = {0, 0, 1};
  shape.index = {0, 1, 0};
  shape.sends = {{0, 8}, {8, 0}, {8, 17}};
  const TuningKey of_shape = tuning_key(CollectiveKind::alltoallv, true, shape);
  EXPECT_EQ(of_shape, (TuningKey{CollectiveKind::alltoallv, true, 3, 2, 0, 8}));
  shape.sends.clear();
  shape.element = 8;
  shape.count = 5;
  EXPECT_EQ(tuning_key(CollectiveKind::allreduce, false, shape).bytes, 40U);
}

void expect_refused(const std::string& text, const std::string& words) {
  try {
    const Tuning tuning(text);
    ADD_FAILURE() << text;
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::setting);
    EXPECT_NE(error.text().find(words), std::string::npos) << error.text();
  }
}

TEST(Tuning, WhatIsNoSuchFileIsRefused) {
  expect_refused("", "it is no JSON at byte 1");
  expect_refused("{\"entries\": [", "it is no JSON at byte 14");
  for (const char* const other : {"[]", "3", "{}", R"({"entries": 3})"})
    expect_refused(other, "it has no list of 'entries'");
  expect_refused(file_of("3"), "entry 1: it is no object");
  expect_refused(file_of(entry("64", "direct", R"(, "measured": 1e999)")), "it is no JSON: ");
}

TEST(Tuning, AnEntryIsRefusedByItsNumberAndItsFault) {
  const std::string good = entry("64", "pairwise") + ",";
  expect_refused(file_of(good + entry("128", "pairwize")),
                 "entry 2: alltoall has no algorithm 'pairwize'; there is pairwise, nonblocking");
  expect_refused(file_of(good + entry("128", "pairwise:0")), "no whole number of ranks from 1 on");
  expect_refused(file_of(good + entry("128", "nonblocking:2")), "nonblocking has no width");
  expect_refused(file_of(good + entry("64", "direct")), "entry 2: an entry before it is for the");
  for (const char* const bytes : {"-1", "1.5", "\"64\"", "1e30", "99999999999999999999", "null"})
    expect_refused(file_of(good + entry(bytes, "direct")), "'up_to_bytes' is no whole number from");
  expect_refused(file_of(good + entry("128", "direct", R"(, "leaders": 2)")),
                 "entry 2: there is no 'leaders' in an entry");
  expect_refused(file_of(good + R"({"collective": "alltoall"})"), "entry 2: it has no 'memory'");
}

TEST(Tuning, EveryKeyOfAnEntryIsLookedAt) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = file_of(entry("64", "pairwise"));
    return text.replace(text.find(from), from.size(), to);
  };
  expect_refused(with("\"alltoall\"", "\"alltoal\""), "there is no collective 'alltoal'");
  expect_refused(with("\"alltoall\"", "7"), "'collective' is no text");
  expect_refused(with("\"host\"", "\"disk\""), "there is no memory 'disk': it is host or gpu");
  expect_refused(with("\"ranks\": 8", "\"ranks\": 0"), "'ranks' is no whole number from 1 to 2147");
  expect_refused(with("\"ranks\": 8", "\"ranks\": 2147483648"), "'ranks' is no whole number");
  expect_refused(with("\"nodes\": 2", "\"nodes\": -2"), "'nodes' is no whole number from 1");
  expect_refused(with("\"ranks_a_node\": 4", "\"ranks_a_node\": true"), "from 0 to 2147483647");
  expect_refused(with("\"pairwise\"", "[]"), "'algorithm' is no text");
}

TEST(Tuning, AKeyStandsOnce) {
  expect_refused(file_of(entry("64", "pairwise", R"(, "algorithm": "direct")")),
                 "an object has the key \"algorithm\" twice");
  expect_refused(R"({"entries": [], "entries": []})", "an object has the key \"entries\" twice");
  expect_refused(file_of(entry("64", "pairwise", R"(, "measured": {"a": 1, "b": 2, "a": 1})")),
                 "an object has the key \"a\" twice");
  const Tuning tuning(file_of(entry("64", "pairwise", R"(, "measured": {"ranks": 1})")));
  EXPECT_EQ(tuning.wish(key), "pairwise");
}

// Files that a path may lead to.
class TuningFile : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/penstock-tuning-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name) const { return folder_ / name; }
  static std::string refusal(const std::string& path) {
    try {
      read_tuning(path);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::setting);
      EXPECT_NE(error.text().find("PENSTOCK_TUNE='" + path + "' is not valid: "), std::string::npos)
          << error.text();
      return std::string(error.text());
    }
    return "none";
  }
  static void expect_words(const std::string& path, const char* words) {
    EXPECT_NE(refusal(path).find(words), std::string::npos) << refusal(path);
  }

  std::filesystem::path folder_;
};

TEST_F(TuningFile, IsReadWhereItIsOne) {
  std::ofstream(path("file")) << file_of(entry("64", "pairwise"));
  std::filesystem::create_symlink("file", path("link"));
  EXPECT_EQ(read_tuning(path("file")).wish(key), "pairwise");
  EXPECT_EQ(read_tuning(path("link")).wish(key), "pairwise");
  EXPECT_EQ(read_tuning("").wish(key), "");
  expect_words(path("missing"), "it cannot be read: No such file");
}

// Without a look at its kind the FIFO would keep the match for ever.
TEST_F(TuningFile, WhatIsNoOrdinaryFileIsRefused) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  for (const std::string& other : {folder_.string(), path("fifo"), std::string("/dev/null")})
    expect_words(other, "it is no ordinary file");
}

TEST_F(TuningFile, ThatIsTooLargeIsRefused) {
  std::ofstream(path("large")) << "{";
  std::filesystem::resize_file(path("large"), std::uintmax_t{64} << 20);
  expect_words(path("large"), "it has 67108864 bytes, and may have less than 64 MiB");
}

}  // namespace
}  // namespace penstock::coll
