// SPDX-License-Identifier: Apache-2.0
// Whose end is noticed: that of processes which hold the mark that they announced, and of no
// others, whatever their numbers are.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "group/process_watch.hpp"

namespace penstock::group {
namespace {

// A process that announces its place, and lives until it is told to end.
class Other {
 public:
  Other() {
    int line[2];
    if (pipe(line) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      const ProcessMark mark;
      place = mark.place();
      if (write(line[1], &place, sizeof place) != static_cast<ssize_t>(sizeof place)) _exit(1);
      for (;;) pause();
    }
    close(line[1]);
    if (read(line[0], &place, sizeof place) != static_cast<ssize_t>(sizeof place)) std::abort();
    close(line[0]);
  }
  ~Other() { end(); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  void end() {
    if (process_ == 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  ProcessPlace place;

 private:
  pid_t process_ = 0;
};

TEST(ProcessWatch, NoticesTheEndOfAProcessThatItHasSeen) {
  const ProcessMark own;
  Other first, second;
  ProcessWatch watch({own.place(), first.place, second.place}, 0);
  EXPECT_EQ(watch.found(), 2);
  watch.watch(0);
  EXPECT_FALSE(watch.dead(1));
  EXPECT_FALSE(watch.dead(2));
  first.end();
  watch.watch(-1);
  EXPECT_TRUE(watch.dead(1));
  EXPECT_FALSE(watch.dead(2));
}

// The number and the descriptor are those of a living process, as they may be on another host.
TEST(ProcessWatch, TakesNoProcessForAnotherOfTheSameNumber) {
  const ProcessMark own;
  Other local;
  ProcessPlace remote = local.place;
  remote.nonce[1] ^= 1;
  ProcessWatch watch({own.place(), remote}, 0);
  EXPECT_EQ(watch.found(), 0);
  local.end();
  watch.watch(0);
  EXPECT_FALSE(watch.dead(1));
}

// Nor is one dead whose number nobody has here, or who has no mark.
TEST(ProcessWatch, DoesNotTakeTheUnseenForDead) {
  const ProcessMark own;
  Other gone, unmarked;
  gone.end();
  unmarked.place.mark = -1;
  ProcessWatch watch({own.place(), gone.place, unmarked.place}, 0);
  EXPECT_EQ(watch.found(), 0);
  unmarked.end();
  watch.watch(0);
  EXPECT_FALSE(watch.dead(1));
  EXPECT_FALSE(watch.dead(2));
}

// The descriptors of this process, as the numbers of a folder.
std::set<int> open_descriptors() {
  std::set<int> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    all.insert(std::stoi(entry.path().filename()));
  // The folder's own, by now.
  std::erase_if(all, [](int each) { return fcntl(each, F_GETFD) < 0; });
  return all;
}

class ClosedDescriptors : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto before = open_descriptors();
    watch.emplace(std::vector<ProcessPlace>{own.place(), other.place}, 0);
    ASSERT_EQ(watch->found(), 1);
    for (const int each : open_descriptors())
      if (!before.contains(each)) ours.push_back(each);
    ASSERT_EQ(ours.size(), 2u);  // of the event and of the process
    for (const int each : ours) close(each);
  }
  const ProcessMark own;
  Other other;
  std::optional<ProcessWatch> watch;
  std::vector<int> ours;
};

// The idiom of daemons, closefrom().
TEST_F(ClosedDescriptors, AreNoDeath) {
  watch->watch(0);
  watch->watch(0);
  EXPECT_FALSE(watch->dead(1));
  // There is an event again: a thread that watches is woken by it, and sleeps before.
  pollfd event{ours[0], POLLIN, 0};
  EXPECT_EQ(poll(&event, 1, 0), 0);
  watch->wake();
  EXPECT_EQ(poll(&event, 1, 0), 1);
  watch->watch(-1);
  EXPECT_EQ(poll(&event, 1, 0), 0);
}

TEST_F(ClosedDescriptors, AreThePrograms) {
  // Two pipes of the program's, with something to read, under our numbers.
  int first[2], second[2];
  ASSERT_EQ(pipe(first), 0);
  ASSERT_EQ(pipe(second), 0);
  const char text[] = "of the program";
  ASSERT_EQ(write(first[1], text, sizeof text), static_cast<ssize_t>(sizeof text));
  ASSERT_EQ(write(second[1], text, sizeof text), static_cast<ssize_t>(sizeof text));
  ASSERT_EQ(dup2(first[0], ours[0]), ours[0]);
  ASSERT_EQ(dup2(second[0], ours[1]), ours[1]);
  watch->wake();
  watch->watch(0);
  watch->watch(0);
  EXPECT_FALSE(watch->dead(1));
  watch.reset();
  for (const int each : ours) {
    char read_back[sizeof text] = "";
    EXPECT_EQ(read(each, read_back, sizeof read_back), static_cast<ssize_t>(sizeof text));
    EXPECT_STREQ(read_back, text);
    close(each);
  }
  for (const int each : {first[1], second[1]}) close(each);
  for (const int each : {first[0], second[0]})
    if (each != ours[0] && each != ours[1]) close(each);
}

TEST(ProcessMark, GoesWithItsOwner) {
  ProcessPlace place;
  {
    const ProcessMark mark;
    place = mark.place();
    EXPECT_TRUE(place.is_here());
  }
  EXPECT_FALSE(place.is_here());
}

}  // namespace
}  // namespace penstock::group
