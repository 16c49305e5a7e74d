// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.hpp"

namespace penstock::base {
namespace {

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "penstock-log-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    log::configure(LogLevel::warn, "");
    std::filesystem::remove_all(folder_);
  }
  static std::string text(const std::filesystem::path& file) {
    std::ostringstream all;
    all << std::ifstream(file).rdbuf();
    return all.str();
  }
  static void expect_refused(const std::string& file, const std::string& why) {
    try {
      log::configure(LogLevel::warn, file);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::setting);
      EXPECT_NE(error.text().find("PENSTOCK_LOG_FILE"), std::string::npos) << error.text();
      EXPECT_NE(error.text().find(why), std::string::npos) << error.text();
    }
  }
  std::filesystem::path folder_;
};

TEST_F(LogTest, TheFileIsNamedByHostAndProcess) {
  log::configure(LogLevel::info, folder_ / "log.%h.%p.%%x");
  log::info("a line");
  std::array<char, 256> host{};
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  const auto file =
      folder_ / ("log." + std::string(host.data()) + "." + std::to_string(getpid()) + ".%%x");
  EXPECT_NE(text(file).find("a line\n"), std::string::npos);
}

TEST_F(LogTest, OnlyWhatTheLevelAllowsIsWritten) {
  const auto file = folder_ / "log";
  log::configure(LogLevel::warn, file);
  EXPECT_TRUE(log::enabled(LogLevel::error));
  EXPECT_FALSE(log::enabled(LogLevel::info));
  log::error("one");
  log::warn("two");
  log::info("three");
  log::write(LogLevel::debug, "four");
  log::configure(LogLevel::off, file);
  log::error("five");
  log::report("six");
  const std::string written = text(file);
  for (const char* word : {"one", "two", "six"})
    EXPECT_NE(written.find(word), std::string::npos) << word;
  for (const char* word : {"three", "four", "five"})
    EXPECT_EQ(written.find(word), std::string::npos) << word;
}

TEST_F(LogTest, LinesSayTheRankAndKeepBraces) {
  const auto file = folder_ / "log";
  log::configure(LogLevel::warn, file);
  log::set_rank(17);
  log::warn("{} {0} %v %n");
  const std::string written = text(file);
  EXPECT_NE(written.find("penstock 17]"), std::string::npos) << written;
  EXPECT_NE(written.find("{} {0} %v %n\n"), std::string::npos) << written;
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsRefused) {
  std::ofstream(folder_ / "plain") << "no folder";
  expect_refused(folder_ / "plain" / "log", "can be written");
}

TEST_F(LogTest, AFifoThatNobodyReadsIsRefused) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  expect_refused(folder_ / "fifo", "nobody reads");
}

TEST_F(LogTest, AFifoWhoseReaderHasGoneEndsNothing) {
  const auto fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  log::configure(LogLevel::warn, fifo);
  close(reader);
  ::testing::internal::CaptureStderr();
  log::warn("one");
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("one"), std::string::npos);
}

TEST_F(LogTest, FoldersAreNotMade) {
  expect_refused(folder_ / "none" / "log", "No such file");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none"));
}

TEST_F(LogTest, AFileOfTheKernelIsRefused) {
  expect_refused("/proc/version", getuid() == 0 ? "ordinary file" : "can be written");
}

TEST_F(LogTest, WhatAFullDiskDoesNotTakeGoesToStandardError) {
  log::configure(LogLevel::warn, "/dev/full");
  ::testing::internal::CaptureStderr();
  log::warn("one");
  log::warn("two");
  const std::string written = ::testing::internal::GetCapturedStderr();
  const auto cause =
      written.find("PENSTOCK_LOG_FILE: /dev/full takes no more (No space left on device)");
  EXPECT_NE(cause, std::string::npos) << written;
  EXPECT_EQ(written.find("takes no more", cause + 60), std::string::npos) << written;
  for (const char* line : {"[warning] one\n", "[warning] two\n"})
    EXPECT_NE(written.find(line), std::string::npos) << written;
}

TEST_F(LogTest, AFileIsWrittenByItsOwnerAlone) {
  const mode_t before = umask(0);
  log::configure(LogLevel::warn, folder_ / "log");
  umask(before);
  EXPECT_EQ(std::filesystem::status(folder_ / "log").permissions(), std::filesystem::perms(0644));
}

}  // namespace
}  // namespace penstock::base
