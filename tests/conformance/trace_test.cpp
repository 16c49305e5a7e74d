// SPDX-License-Identifier: Apache-2.0
// PENSTOCK_TRACE: files that cannot be had are refused by all ranks, and what is written shows each
// epoch's events in their order. The cases are one program's life, in their order.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"

namespace penstock::test {
namespace {

using nlohmann::json;

constexpr std::uint64_t epochs = 20;
constexpr std::array<std::size_t, 4> sizes{0, 8, 8000, 100000};

// A folder of rank 0's, whose name all ranks have.
const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    std::array<char, 256> name{};
    const std::string pattern = std::filesystem::temp_directory_path() / "penstock-trace-XXXXXX";
    pattern.copy(name.data(), name.size() - 1);
    if (rank() == 0 && mkdtemp(name.data()) == nullptr) name[0] = '\0';
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    return std::filesystem::path(name.data());
  }();
  return path;
}

std::filesystem::path own_file() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return folder() / (std::string(host.data()) + "." + std::to_string(getpid()) + ".json");
}

void expect_refused(const std::string& cause) {
  EXPECT_PST_KIND(PST_Init(), PST_ERROR_SETTING);
  EXPECT_NE(last_error().find("PENSTOCK_TRACE"), std::string::npos) << last_error();
  EXPECT_NE(last_error().find(cause), std::string::npos) << last_error();
}

TEST(Trace, AFileThatCannotBeWrittenIsRefused) {
  const bool last = rank() == size() - 1;
  setenv("PENSTOCK_TRACE", last ? "/no/such/folder/trace.json" : (folder() / "%h.%p.json").c_str(),
         1);
  expect_refused("No such file or directory");
}

TEST(Trace, AFileOfTwoProcessesIsRefused) {
  if (size() == 1) GTEST_SKIP() << "one process";
  setenv("PENSTOCK_TRACE", (folder() / "all.json").c_str(), 1);
  expect_refused("%p");
}

// One message to the next rank and one from the rank before.
struct Pair {
  Pair(std::size_t bytes, int tag)
      : sender(bytes, Memory::ordinary, sequence_key(rank(), next(), tag)),
        receiver(bytes, Memory::ordinary, sequence_key(previous(), rank(), tag)) {
    sender.init(Kind::standard, next(), tag);
    receiver.init(previous(), tag);
  }
  static int next() {
    static const int value = (rank() + 1) % size();  // also after MPI_Finalize
    return value;
  }
  static int previous() {
    static const int value = (rank() + size() - 1) % size();
    return value;
  }

  Sender sender;
  Receiver receiver;
};

// One by one on the first queue, whose requests have even tags, and all in one call on the second.
TEST(Trace, AProgramIsTraced) {
  setenv("PENSTOCK_TRACE", (folder() / "%h.%p.json").c_str(), 1);
  ASSERT_PST(PST_Init());
  std::array<Lane, 2> lanes;
  std::vector<std::unique_ptr<Pair>> pairs;
  std::vector<MPI_Request*> requests;
  for (std::size_t i = 0; i < 2 * sizes.size(); ++i) {
    pairs.push_back(std::make_unique<Pair>(sizes[i / 2], static_cast<int>(i)));
    requests.push_back(&pairs.back()->sender.request());
    requests.push_back(&pairs.back()->receiver.request());
  }
  match_all(requests);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    std::vector<MPI_Request> together;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      Pair& pair = *pairs[i];
      if (i % 2 == 0) {
        pair.receiver.enqueue_start(lanes[0]);
        pair.sender.enqueue_start(lanes[0]);
        pair.receiver.enqueue_wait(lanes[0]);
        pair.sender.enqueue_wait(lanes[0]);
      } else {
        lanes[1].launch(Sender::fill, &pair.sender);
        together.insert(together.end(), {pair.sender.request(), pair.receiver.request()});
      }
    }
    const int count = static_cast<int>(together.size());
    ASSERT_PST(PST_Enqueue_startall(lanes[1].queue(), count, together.data()));
    ASSERT_PST(PST_Enqueue_waitall(lanes[1].queue(), count, together.data()));
    for (std::size_t i = 1; i < pairs.size(); i += 2)
      lanes[1].launch(Receiver::check, &pairs[i]->receiver);
  }
  for (Lane& lane : lanes) lane.finish();
  for (auto& pair : pairs) pair->receiver.expect_good(epochs);
}

// On a queue of its own, the third.
TEST(Trace, ACollectiveIsTraced) {
  Lane lane;
  std::vector<int> data(3);
  MPI_Request request;
  ASSERT_PST(PST_Allreduce_init(MPI_IN_PLACE, data.data(), 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                MPI_INFO_NULL, &request));
  ASSERT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch)
    ASSERT_PST(PST_Enqueue_run(lane.queue(), &request));
  lane.finish();
  ASSERT_PST(PST_Request_free(&request));
}

struct Times {
  double begin = 0;
  double end = 0;
};

// An event's queue, half and tag, and the epoch.
using Half = std::tuple<std::uint64_t, std::string, int>;
using EpochOf = std::map<std::uint64_t, Times>;

struct Written {
  std::map<std::string, std::map<Half, EpochOf>> events;  // by what they are
  std::set<std::string> threads;
  std::map<std::pair<int, std::string>, std::uint64_t> functions;  // by stream and name
  std::map<std::string, int> collectives;                          // calls, by name
};

void read_event(const json& event, std::map<std::string, json>& open, Written& written) {
  const std::string phase = event["ph"];
  if (phase == "M") {
    if (event["name"] == "thread_name")
      written.threads.insert(event["args"]["name"].get<std::string>());
    return;
  }
  if (phase == "b") {
    open[event["id"]] = event;
    return;
  }
  if (event["cat"] == "function") {
    ++written.functions[{event["args"]["stream"].get<int>(), event["name"]}];
    return;
  }
  ASSERT_TRUE(phase == "X" || phase == "e") << event;
  const json& begin = phase == "e" ? open.at(event["id"]) : event;
  const json& args = begin["args"];
  if (begin["tid"].get<std::uint64_t>() / 2 == 3) {
    if (args["half"] == "collective" && begin["cat"] == "call") {
      EXPECT_EQ(args["bytes"], 12);
      ++written.collectives[begin["name"]];
    }
    return;
  }
  const bool sends = args["half"] == "send";
  const int tag = args["tag"];
  EXPECT_EQ(args["peer"], sends ? Pair::next() : Pair::previous()) << event;
  EXPECT_EQ(args["bytes"], sizes[static_cast<std::size_t>(tag) / 2]) << event;
  std::string what = begin["cat"];
  if (what == "call")
    what = begin["name"].get<std::string>().substr(0, 4) == "wait" ? "wait call" : "start call";
  const double from = begin["ts"];
  const double to = phase == "e" ? event["ts"].get<double>() : from + begin["dur"].get<double>();
  const Half half{begin["tid"].get<std::uint64_t>() / 2, args["half"], tag};
  const bool is_new = written.events[what][half].emplace(args["epoch"], Times{from, to}).second;
  EXPECT_TRUE(is_new) << event;
}

void expect_in_order(Written& written, const Half& half) {
  constexpr double rounding = 0.002;  // times have three digits
  double before = 0;
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    SCOPED_TRACE("epoch " + std::to_string(epoch) + " of the " + std::get<1>(half) + " with tag " +
                 std::to_string(std::get<2>(half)));
    const auto times = [&](const char* what) { return written.events[what][half].at(epoch); };
    const Times trigger = times("trigger"), wait = times("wait"), transfer = times("transfer");
    EXPECT_LE(times("start call").begin, trigger.begin + rounding);
    EXPECT_LE(times("wait call").begin, wait.begin + rounding);
    EXPECT_LE(before, trigger.begin + rounding);
    EXPECT_LE(trigger.begin, trigger.end);
    EXPECT_LE(trigger.end, wait.begin + rounding);
    EXPECT_LE(wait.begin, wait.end);
    EXPECT_NEAR(transfer.begin, trigger.begin, rounding);
    EXPECT_NEAR(transfer.end, wait.end, rounding);
    before = wait.end;
  }
}

TEST(Trace, EveryEpochHasItsEventsInOrder) {
  ASSERT_EQ(MPI_Finalize(), MPI_SUCCESS);
  std::ifstream file(own_file());
  const json events = json::parse(file);
  Written written;
  std::map<std::string, json> open;
  for (const json& event : events) read_event(event, open, written);
  EXPECT_EQ(
      written.threads,
      (std::set<std::string>{"queue 1: calls", "queue 1: stream", "queue 2: calls",
                             "queue 2: stream", "queue 3: calls", "queue 3: stream",
                             "stream 1: functions", "stream 2: functions", "stream 3: functions"}));
  const auto run_each = static_cast<int>(epochs);
  EXPECT_EQ(written.collectives, (std::map<std::string, int>{{"start allreduce 1", run_each},
                                                             {"wait allreduce 1", run_each}}));
  std::uint64_t functions = 0;
  for (const auto& [where, count] : written.functions) functions += count;
  // Four on the first stream, two on the second.
  EXPECT_EQ(functions, epochs * sizes.size() * (4 + 2));
  for (const char* what : {"start call", "wait call", "trigger", "wait", "transfer"}) {
    ASSERT_EQ(written.events[what].size(), 4 * sizes.size()) << what;
    for (const auto& [half, of] : written.events[what]) EXPECT_EQ(of.size(), epochs) << what;
  }
  EXPECT_EQ(written.events.size(), 5u);
  for (const auto& [half, ignored] : written.events["trigger"]) expect_in_order(written, half);
  std::filesystem::remove(own_file());
  // The last of the ranks finds it empty.
  std::filesystem::remove(folder() / "all.json");
  std::error_code not_empty;
  std::filesystem::remove(folder(), not_empty);
}

}  // namespace
}  // namespace penstock::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(throw_on_failure, true);  // a rank that fails ends the job: the others wait for it
  const char* transport = std::getenv("PENSTOCK_TRANSPORT");
  const bool multiple = transport != nullptr && std::string(transport) == "proxy";
  // As in a program whose MPI_Init is not ours: the library is initialised by the cases.
  int level = 0;
  PMPI_Init_thread(nullptr, nullptr, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return RUN_ALL_TESTS();
}
