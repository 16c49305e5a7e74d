// SPDX-License-Identifier: Apache-2.0
// Whose end is noticed: that of processes which hold the mark that they announced, and of no others, whatever their
// numbers are.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
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
