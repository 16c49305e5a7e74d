// SPDX-License-Identifier: Apache-2.0
// libfabric is loaded when it is wanted, and not before. Where it cannot be loaded pairs take
// `proxy`, or the match fails with the cause where only `ofi` is allowed, and the program goes on.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "conformance/one_way.hpp"

namespace penstock::test {
namespace {

std::atomic<int> asked_for{0};

bool is_missing() {
  static const bool missing = std::getenv("PENSTOCK_TEST_WITHOUT_LIBFABRIC") != nullptr;
  return missing;
}

void exchange(OneWay& pair) {
  constexpr int epochs = 20;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    pair.start_receive();
    pair.start_send();
    pair.wait_receive();
    pair.wait_send();
  }
  pair.finish_send();
  pair.finish_receive();
  pair.expect_good(epochs);
}

void expect_good_message(const std::string& transport) {
  OneWay pair({.bytes = 1000, .tag = 3});
  EXPECT_EQ(transport_of(pair.sends() ? pair.sender().request() : pair.receiver().request()),
            transport);
  exchange(pair);
}

std::string describe_library() {
  int length = 0;
  EXPECT_PST(PST_Describe(nullptr, 0, &length));
  std::vector<char> text(static_cast<std::size_t>(length) + 1000);
  EXPECT_PST(PST_Describe(text.data(), static_cast<int>(text.size()), &length));
  return text.data();
}

TEST(Libfabric, IsNotLoadedWhereSharedMemoryReachesEverybody) {
  if (std::getenv("PENSTOCK_TRANSPORT") != nullptr && !transport_allowed("peer"))
    GTEST_SKIP() << "it is asked for";
  expect_good_message("peer");
  EXPECT_EQ(asked_for, 0);
}

TEST(Libfabric, IsLoadedWhereTheSettingsNameIt) {
  if (transport_allowed("peer") || is_missing())
    GTEST_SKIP() << "it is not asked for, or not there";
  expect_good_message("ofi");
  EXPECT_GT(asked_for, 0);
}

TEST(Libfabric, LeavesPairsToProxyWhereItIsMissing) {
  if (!is_missing() || transport_allowed("peer") || !transport_allowed("proxy"))
    GTEST_SKIP() << "it is there, or not wanted, or nothing is to fall back to";
  expect_good_message("proxy");
}

TEST(Libfabric, IsTheCauseOfAFailedMatchWhereItIsMissing) {
  if (!is_missing() || transport_allowed("peer") || transport_allowed("proxy"))
    GTEST_SKIP() << "it is there, or another transport takes such pairs";
  Sender sender(1000, Memory::ordinary, 1);
  Receiver receiver(1000, Memory::ordinary, 1);
  if (rank() == 0)
    sender.init(Kind::standard, 1, 7);
  else
    receiver.init(0, 7);
  MPI_Request& request = rank() == 0 ? sender.request() : receiver.request();
  EXPECT_PST_KIND(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_TRANSPORT);
  for (const char* const part :
       {"tag 7", "libfabric cannot be loaded", "there is no such file", "LD_LIBRARY_PATH"})
    EXPECT_NE(last_error().find(part), std::string::npos) << last_error();
}

// Last: describing the providers loads it.
TEST(LibfabricLast, IsSaidToBeMissingByPstDescribe) {
  const std::string description = describe_library();
  EXPECT_EQ(description.find("libfabric cannot be loaded") != std::string::npos, is_missing())
      << description;
}

}  // namespace
}  // namespace penstock::test

// In place of the C library's, for this program and all that it has loaded.
extern "C" void* dlopen(const char* file, int mode) {
  using namespace penstock::test;
  static const auto next = reinterpret_cast<decltype(&dlopen)>(dlsym(RTLD_NEXT, "dlopen"));
  if (file != nullptr && std::string(file).find("libfabric.so") != std::string::npos) {
    ++asked_for;
    if (is_missing()) return next("/there is no such file/libfabric.so.1", mode);
  }
  return next(file, mode);
}
