// SPDX-License-Identifier: Apache-2.0
// No provider of libfabric can defer work, on all ranks or on one of them (FI_PROVIDER hides the
// others): pairs take `proxy` and both ends say why, or the match fails with the cause where only
// `ofi` is allowed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "conformance/one_way.hpp"

namespace penstock::test {
namespace {

// PENSTOCK_TEST_WITHOUT_PROVIDER=RANK: on that rank alone. Before MPI_Init, so that only launchers
// can tell the rank.
const bool without_provider = [] {
  const char* const wanted = std::getenv("PENSTOCK_TEST_WITHOUT_PROVIDER");
  for (const char* const name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK"})
    if (const char* const rank = std::getenv(name);
        wanted != nullptr && rank != nullptr && std::string(rank) == wanted)
      return setenv("FI_PROVIDER", "tcp", 1) == 0;
  return false;
}();

constexpr auto here = "no provider of libfabric can defer work";

std::string cause() {
  const bool one_alone = std::getenv("PENSTOCK_TEST_WITHOUT_PROVIDER") != nullptr;
  return one_alone && !without_provider ? "has no provider that can defer work" : here;
}

// What this process's log says of the pair.
std::string line_of(const std::string& tag) {
  std::string path = std::getenv("PENSTOCK_LOG_FILE");
  path.replace(path.find("%p"), 2, std::to_string(getpid()));
  std::ifstream file(path);
  std::string found;
  for (std::string line; std::getline(file, line);)
    if (line.find("tag " + tag + ",") != std::string::npos) found = line;
  std::remove(path.c_str());
  return found;
}

TEST(NoProvider, PairsTakeProxyAndBothEndsSayWhy) {
  if (!transport_allowed("proxy")) GTEST_SKIP() << "without proxy there is nothing to fall back to";
  OneWay pair({.bytes = 1000, .tag = 81});
  EXPECT_EQ(transport_of(pair.sends() ? pair.sender().request() : pair.receiver().request()),
            "proxy");
  const std::string line = line_of("81");
  EXPECT_NE(line.find("not ofi (here: "), std::string::npos) << line;
  EXPECT_NE(line.find(cause()), std::string::npos) << line;
  for (int epoch = 0; epoch < 100; ++epoch) {
    pair.start_receive();
    pair.start_send();
    pair.wait_receive();
    pair.wait_send();
  }
  pair.finish_send();
  pair.finish_receive();
  pair.expect_good(100);
}

TEST(NoProvider, WhereOnlyOfiIsAllowedTheMatchFailsWithTheCause) {
  if (transport_allowed("proxy")) GTEST_SKIP() << "proxy takes such pairs";
  Sender sender(1000, Memory::ordinary, 1);
  Receiver receiver(1000, Memory::ordinary, 1);
  MPI_Request* request = &sender.request();
  if (rank() == 0) {
    sender.init(Kind::standard, 1, 7);
  } else {
    receiver.init(0, 7);
    request = &receiver.request();
  }
  EXPECT_PST_KIND(PST_Match(request, MPI_STATUS_IGNORE), PST_ERROR_TRANSPORT);
  for (const std::string& part : {std::string("tag 7"), cause()})
    EXPECT_NE(last_error().find(part), std::string::npos) << last_error();
}

}  // namespace
}  // namespace penstock::test
