// SPDX-License-Identifier: Apache-2.0
// The peer transport between two processes, which is what it is for: copies across address spaces,
// and a peer that is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "unit/peer/two.hpp"

namespace penstock::peer {
namespace {

// One of two processes, and the line to the other.
class Process {
 public:
  Process(int rank, int line, const base::Settings& settings)
      : line_(line), end(settings, rank, 2) {
    const transport::WireRecord mine = end.transport->address();
    tell(mine);
    std::vector<transport::WireRecord> all(2, mine);
    all[static_cast<std::size_t>(1 - rank)] = hear();
    end.transport->add_peers(all);
    tell({});
    hear();
    end.transport->peers_added();
  }

  void tell(const transport::WireRecord& record) const {
    const std::size_t size = record.size();
    if (write(line_, &size, sizeof(size)) != static_cast<ssize_t>(sizeof(size)) ||
        write(line_, record.data(), size) != static_cast<ssize_t>(size))
      std::abort();
  }
  transport::WireRecord hear() const {
    std::size_t size = 0;
    if (read(line_, &size, sizeof(size)) != static_cast<ssize_t>(sizeof(size))) std::abort();
    transport::WireRecord record(size);
    for (std::size_t got = 0; got < size;) {
      const ssize_t more = read(line_, record.data() + got, size - got);
      if (more <= 0) std::abort();
      got += static_cast<std::size_t>(more);
    }
    return record;
  }

  std::unique_ptr<transport::Plan> match(transport::Direction direction, void* buffer,
                                         std::size_t bytes) {
    transport::Message message;
    message.direction = direction;
    message.buffer = buffer;
    message.bytes = bytes;
    message.peer = 1 - end.world.rank();
    if (direction == transport::Direction::send) {
      const auto offer = end.transport->offer(message);
      tell(offer->record());
      auto plan = offer->connect(hear());
      tell({});
      return plan;
    }
    transport::Message send = message;
    send.direction = transport::Direction::send;
    send.buffer = nullptr;
    const auto acceptance = end.transport->accept(message, send, hear());
    tell(acceptance->record());
    hear();
    return acceptance->confirm();
  }

 private:
  int line_;

 public:
  End end;
};

// Runs `first` as rank 0 in this process and `second` as rank 1 in another; returns the other's
// status.
int run_two(const base::Settings& settings, const std::function<void(Process&, pid_t)>& first,
            const std::function<int(Process&)>& second) {
  int line[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, line) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    int status = 1;
    {
      Process process(1, line[1], settings);
      status = second(process);
    }
    _exit(status);
  }
  {
    Process process(0, line[0], settings);
    first(process, child);
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(line[0]);
  close(line[1]);
  return status;
}

struct Case {
  const char* name;
  std::size_t eager_max;
  bool cross_memory;
  bool shared_buffers;
};

class PeerProcesses : public ::testing::TestWithParam<Case> {};

TEST_P(PeerProcesses, G6EchoOfEverySizeIsWhatWasSent) {
  const Case& way = GetParam();
  base::Settings settings;
  settings.eager_max = way.eager_max;
  settings.cross_memory = way.cross_memory;
  constexpr std::uint64_t epochs = 20;
  const std::size_t sizes[] = {0, 1, 56, 57, 4097, 100000, 1500001};
  const auto buffer_for = [&](Process& process, std::size_t bytes, std::vector<std::byte>& own) {
    if (way.shared_buffers)
      return static_cast<std::byte*>(process.end.transport->memory().allocate(bytes));
    own.resize(bytes + 1);
    return own.data() + 1;
  };
  const int status = run_two(
      settings,
      [&](Process& process, pid_t) {
        End& end = process.end;
        for (const std::size_t bytes : sizes) {
          std::vector<std::byte> own[2];
          std::byte* out = buffer_for(process, bytes, own[0]);
          std::byte* in = buffer_for(process, bytes, own[1]);
          const auto send = process.match(transport::Direction::send, out, bytes);
          const auto receive = process.match(transport::Direction::receive, in, bytes);
          for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
            for (std::size_t i = 0; i < bytes; ++i) out[i] = pattern(epoch, i);
            once(*send, end);
            once(*receive, end);
            end.stream->synchronize({});
            ASSERT_EQ(std::memcmp(out, in, bytes), 0) << bytes << " bytes, epoch " << epoch;
          }
          send->close();
          receive->close();
        }
        EXPECT_FALSE(end.sink.error());
      },
      [&](Process& process) {
        End& end = process.end;
        for (const std::size_t bytes : sizes) {
          std::vector<std::byte> own;
          std::byte* both = buffer_for(process, bytes, own);
          const auto receive = process.match(transport::Direction::receive, both, bytes);
          const auto send = process.match(transport::Direction::send, both, bytes);
          for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
            once(*receive, end);
            once(*send, end);
          }
          end.stream->synchronize({});
          receive->close();
          send->close();
        }
        return end.sink.error() ? 1 : 0;
      });
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, PeerProcesses,
                         ::testing::Values(Case{"Ring", 1 << 30, true, false},
                                           Case{"Shared", 0, false, true},
                                           Case{"Across", 0, true, false},
                                           Case{"Staged", 0, false, false}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

// The copy itself meets the death, before anybody has told: the kernel says that there is no such
// process any more.
TEST(PeerProcessDeath, CopyWithAKilledPeerFailsAndIsNotReportedAsDone) {
  base::Settings settings;
  settings.eager_max = 0;
  constexpr std::size_t bytes = 300000;
  const int status = run_two(
      settings,
      [&](Process& process, pid_t other) {
        End& end = process.end;
        std::vector<std::byte> out(bytes);
        const auto send = process.match(transport::Direction::send, out.data(), bytes);
        process.hear();  // the receive has been started
        kill(other, SIGKILL);
        if (send->path().find("cross-memory") == std::string::npos) GTEST_SKIP() << send->path();
        siginfo_t ended;
        waitid(P_PID, static_cast<id_t>(other), &ended, WEXITED | WNOWAIT);
        once(*send, end);
        end.stream->synchronize({});
        const auto error = end.sink.error();
        ASSERT_TRUE(error);
        EXPECT_TRUE(error->kind() == base::ErrorKind::peer_dead ||
                    error->kind() == base::ErrorKind::transport)
            << error->text();
      },
      [&](Process& process) {
        End& end = process.end;
        std::vector<std::byte> in(bytes);
        const auto receive = process.match(transport::Direction::receive, in.data(), bytes);
        receive->start(*end.stream, end.sink);
        end.stream->synchronize({});
        process.tell({});
        pause();
        return 0;
      });
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace penstock::peer
