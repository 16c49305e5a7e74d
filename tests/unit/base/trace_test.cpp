// SPDX-License-Identifier: Apache-2.0
// What is recorded is written, or counted as dropped; and nothing of another process is
// overwritten.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/trace_file.hpp"
#include "support/rounds.hpp"

namespace penstock::base {
namespace {

using nlohmann::json;
using trace::Clock;
using trace::Event;
using trace::QueueTrace;
using trace::StreamTrace;
using trace::TraceKind;
using trace::Track;

Event event(std::uint64_t epoch, TraceKind kind = TraceKind::trigger) {
  const auto begin =
      Clock::time_point(std::chrono::nanoseconds(1'234'567'890'123'456 + static_cast<int>(epoch)));
  return {kind, {true, 3, 7, 4096}, epoch, begin, begin + std::chrono::nanoseconds(500)};
}

std::vector<std::uint64_t> epochs_of(Track& track) {
  std::vector<std::uint64_t> epochs;
  track.take_all([&](const Event& each) { epochs.push_back(each.epoch); });
  return epochs;
}

TEST(TraceTrack, KeepsTheOrderAndCountsWhatFindsNoRoom) {
  Sleeper writer;
  Track track(4, writer);
  for (std::uint64_t epoch = 1; epoch <= 6; ++epoch) track.record(event(epoch));
  EXPECT_TRUE(track.half_full());
  EXPECT_EQ(epochs_of(track), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(track.dropped(), 2u);
  EXPECT_FALSE(track.half_full());
  track.record(event(7));
  EXPECT_EQ(epochs_of(track), (std::vector<std::uint64_t>{7}));
  EXPECT_EQ(track.dropped(), 2u);
}

class TraceFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "penstock-trace-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  json read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return json::parse(file);
  }
  void expect_refused(const std::string& file, const std::string& why) const {
    try {
      TraceFile trace(file, 0);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::setting);
      EXPECT_NE(error.text().find("PENSTOCK_TRACE"), std::string::npos) << error.text();
      EXPECT_NE(error.text().find(why), std::string::npos) << error.text();
    }
  }
  std::filesystem::path folder_;
};

TEST_F(TraceFileTest, EventsHaveTheirPlaceAndWhatTheyAreAbout) {
  {
    TraceFile file(folder_ / "trace.%p.json", 5);
    QueueTrace& queue = file.add_queue(2, 0);
    queue.calls.record(event(1, TraceKind::start_call));
    queue.stream.record(event(1, TraceKind::wait));
    queue.close();
  }
  const json events = read("trace." + std::to_string(getpid()) + ".json");
  const auto find = [&](const char* category) {
    for (const json& each : events)
      if (each.value("cat", "") == category) return each;
    return json();
  };
  const json call = find("call"), wait = find("wait");
  EXPECT_EQ(call["pid"], 5);
  EXPECT_EQ(call["tid"], 4);
  EXPECT_EQ(call["name"], "start send to 3");
  EXPECT_EQ(call["args"],
            (json{{"half", "send"}, {"peer", 3}, {"tag", 7}, {"bytes", 4096}, {"epoch", 1}}));
  EXPECT_EQ(wait["tid"], 5);
  EXPECT_NEAR(wait["ts"].get<double>(), 1'234'567'890'123.457, 0.0011);
  EXPECT_NEAR(wait["dur"].get<double>(), 0.5, 0.0011);
}

TEST_F(TraceFileTest, FunctionsAreNamedAndLieOnTheirStream) {
  {
    TraceFile file(folder_ / "trace", 5);
    StreamTrace& stream = file.add_stream(3);
    QueueTrace& queue = file.add_queue(2, 3);
    // One that every linker keeps the name of, and one of nobody.
    for (const auto address : {reinterpret_cast<std::uint64_t>(&std::abort), std::uint64_t{16}})
      stream.functions.record(event(address, TraceKind::function));
    queue.close();
    stream.close();
  }
  std::vector<std::string> names;
  std::string stream_of_queue, thread;
  for (const json& each : read("trace")) {
    if (each["name"] == "thread_name" && each["args"].contains("stream"))
      stream_of_queue = each["args"].dump();
    if (each["name"] == "thread_name" && each["tid"] > 1000) thread = each["args"]["name"];
    if (each.value("cat", "") != "function") continue;
    EXPECT_EQ(each["args"], json({{"stream", 3}}));
    names.push_back(each["name"]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"abort", "0x10"}));
  EXPECT_EQ(json::parse(stream_of_queue), json({{"name", "queue 2: stream"}, {"stream", 3}}));
  EXPECT_EQ(thread, "stream 3: functions");
}

TEST_F(TraceFileTest, WhatIsNotWrittenIsCounted) {
  // More than there is room for.
  constexpr std::uint64_t count = test::fewer_rounds(150'000, 2);
  {
    TraceFile file(folder_ / "trace", 0);
    QueueTrace& queue = file.add_queue(1, 0);
    std::thread caller([&] {
      for (std::uint64_t epoch = 1; epoch <= count; ++epoch)
        queue.calls.record(event(epoch, TraceKind::start_call));
    });
    for (std::uint64_t epoch = 1; epoch <= count; ++epoch) queue.stream.record(event(epoch));
    caller.join();
    queue.close();
  }
  std::uint64_t written = 0, dropped = 0, last_call = 0, last_trigger = 0;
  // As text, whose lines hold an event each: as JSON they take seconds.
  std::ifstream file(folder_ / "trace");
  const auto number = [](const std::string& line, const char* name) {
    const std::size_t at = line.find(name);
    return at == line.npos ? 0 : std::strtoull(&line[at + std::strlen(name)], nullptr, 10);
  };
  for (std::string line; std::getline(file, line);) {
    dropped += number(line, "\"dropped\":");
    if (line.find("\"ph\":\"X\"") == line.npos) continue;
    ++written;
    std::uint64_t& last = line.find("\"cat\":\"call\"") == line.npos ? last_trigger : last_call;
    const std::uint64_t epoch = number(line, "\"epoch\":");
    EXPECT_GT(epoch, last);
    last = epoch;
  }
  EXPECT_EQ(written + dropped, 2 * count);
  EXPECT_GE(written, std::uint64_t{2} << 16);
}

TEST_F(TraceFileTest, QueuesThatComeAndGoLeaveTheirEvents) {
  constexpr std::uint64_t queues = 20;
  {
    TraceFile file(folder_ / "trace", 0);
    for (std::uint64_t number = 1; number <= queues; ++number) {
      QueueTrace& queue = file.add_queue(number, 0);
      queue.stream.record(event(number));
      queue.close();
    }
    // Their memory goes with them, not with the file.
    while (file.open_owners() > 0) std::this_thread::yield();
  }
  std::uint64_t seen = 0;
  for (const json& each : read("trace")) {
    if (each["ph"] != "X") continue;
    EXPECT_EQ(each["args"]["epoch"], ++seen);
  }
  EXPECT_EQ(seen, queues);
}

TEST_F(TraceFileTest, FilesThatCannotBeHadAreRefused) {
  std::ofstream(folder_ / "plain") << "no folder";
  expect_refused(folder_ / "plain" / "trace", "can be written");
  expect_refused(folder_, "can be written");
  const TraceFile first(folder_ / "trace", 0);
  expect_refused(folder_ / "trace", "%p");
}

TEST_F(TraceFileTest, AFifoThatNobodyReadsIsRefused) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  expect_refused(folder_ / "fifo", "nobody reads");
}

TEST_F(TraceFileTest, AFifoWhoseReaderDoesNotReadFailsAndSaysSo) {
  const std::string path = folder_ / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  OutputFile file("PENSTOCK_TRACE", path, OutputFile::OpenMode::replace,
                  std::chrono::milliseconds(1));
  const std::string text(std::size_t{1} << 22, 'x');  // more than a pipe takes
  EXPECT_FALSE(file.write(text));
  EXPECT_EQ(errno, ETIME);
  close(reader);
}

TEST_F(TraceFileTest, ASocketIsNoFifo) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{AF_UNIX, {}};
  std::strncpy(address.sun_path, (folder_ / "socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  expect_refused(folder_ / "socket", "that is a socket");
  close(listener);
}

TEST_F(TraceFileTest, StandardOutputIsRefusedByName) {
  expect_refused("/dev/stdout", "mkfifo");
}

// The second process is told of the cause, too, and not of the first.
TEST_F(TraceFileTest, AFileOfTheKernelIsRefused) {
  const int other = open("/proc/version", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(other, 0);
  flock(other, LOCK_EX | LOCK_NB);
  expect_refused("/proc/version", getuid() == 0 ? "ordinary file" : "can be written");
  close(other);
}

TEST_F(TraceFileTest, AFileBehindASymbolicLinkStays) {
  std::ofstream(folder_ / "precious") << "text";
  std::filesystem::create_symlink("precious", folder_ / "link");
  expect_refused(folder_ / "link", "symbolic link");
  std::ifstream file(folder_ / "precious");
  std::string text;
  EXPECT_TRUE(std::getline(file, text) && text == "text") << text;
}

TEST_F(TraceFileTest, AFileIsWrittenByItsOwnerAlone) {
  const mode_t before = umask(0);
  { const TraceFile trace(folder_ / "trace", 0); }
  umask(before);
  EXPECT_EQ(std::filesystem::status(folder_ / "trace").permissions(), std::filesystem::perms(0644));
}

// What a process has recorded is written by it alone, also when a child of it exits meanwhile.
TEST_F(TraceFileTest, AChildThatExitsWritesNothing) {
  {
    TraceFile file(folder_ / "trace", 0);
    QueueTrace& queue = file.add_queue(1, 0);
    for (std::uint64_t epoch = 1; epoch <= 10; ++epoch) queue.stream.record(event(epoch));
    queue.close();
    while (file.open_owners() > 0) std::this_thread::yield();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) std::exit(0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  std::uint64_t seen = 0;
  for (const json& each : read("trace"))
    if (each["ph"] == "X") {
      EXPECT_EQ(each["args"]["epoch"], ++seen);
    }
  EXPECT_EQ(seen, 10u);
}

}  // namespace
}  // namespace penstock::base
