// SPDX-License-Identifier: Apache-2.0
// What PST_Describe counts for `ofi`: entries of the provider in use, starts that had to wait for
// them or were carried out without, pairs that took another transport and why. Runs with four
// entries.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "conformance/one_way.hpp"
#include "network/layer.hpp"

namespace penstock::test {
namespace {

using nlohmann::json;

json describe_transport(const std::string& name) {
  int length = 0;
  EXPECT_PST(PST_Describe(nullptr, 0, &length));
  // The numbers may grow in between.
  std::vector<char> text(static_cast<std::size_t>(length) + 200);
  EXPECT_PST(PST_Describe(text.data(), static_cast<int>(text.size()), &length));
  const json description = json::parse(text.data());
  for (const json& transport : description["transports"])
    if (transport["name"] == name) return transport;
  return {};
}

std::uint64_t count(const std::string& what) {
  return describe_transport("ofi")["counts"].value(what, std::uint64_t{12345678});
}

TEST(Counts, OfEntriesAndOfStarts) {
  EXPECT_EQ(count("entries"), 4u);
  EXPECT_EQ(count("entries_in_use"), 0u);
  const std::uint64_t before = count("starts_posted") + count("starts_carried_out");
  OneWay pair({.bytes = 50000, .kind = Kind::synchronous});
  // Far more starts than entries, while the stream is held: they wait.
  std::atomic<bool> go = false;
  Lane& lane = pair.sends() ? pair.send_lane() : pair.receive_lane();
  lane.launch([](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(false); }, &go);
  constexpr std::uint64_t epochs = 100;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    pair.start_receive();
    pair.start_send();
    pair.wait_receive();
    pair.wait_send();
  }
  while (count("entries_in_use") == 0) std::this_thread::yield();
  go = true;
  go.notify_all();
  pair.finish_receive();
  pair.finish_send();
  pair.expect_good(epochs);
  EXPECT_GE(count("starts_posted") + count("starts_carried_out"), before + epochs);
  EXPECT_GT(count("starts_posted"), 0u);
  EXPECT_GT(count("starts_throttled"), 0u);
  EXPECT_GE(count("most_entries_in_use"), 2u);
  EXPECT_LE(count("most_entries_in_use"), 4u);
  while (count("entries_in_use") != 0) std::this_thread::yield();
}

TEST(Counts, OfPairsThatTookAnotherTransport) {
  const std::uint64_t over_ofi = describe_transport("ofi").value("pairs", std::uint64_t{0});
  if (rank() == 1) network::faults().counters = 0;
  OneWay refused({.tag = 5});
  network::faults().counters = network::plenty;
  OneWay served({.tag = 6});
  const json ofi = describe_transport("ofi");
  EXPECT_EQ(ofi.value("pairs", std::uint64_t{0}), over_ofi + 1);
  EXPECT_EQ(describe_transport("proxy").value("pairs", 0), 1);
  ASSERT_EQ(ofi["passed_over"].size(), 1u) << ofi.dump();
  EXPECT_EQ(ofi["passed_over"][0].value("pairs", 0), 1);
  const std::string why = ofi["passed_over"][0].value("why", "");
  EXPECT_NE(why.find(rank() == 1 ? "here: ofi: fi_cntr_open" : "peer: ofi: fi_cntr_open"),
            std::string::npos)
      << why;
}

}  // namespace
}  // namespace penstock::test
