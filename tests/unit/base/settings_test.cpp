// SPDX-License-Identifier: Apache-2.0
// Environment variables: what is valid, and that what is not is refused with the valid values.
#include "base/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace penstock::base {
namespace {

class SettingsTest : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

  static void set(const char* name, const char* value) { setenv(name, value, 1); }
  static std::string refusal(const char* name, const char* value) {
    clear();
    set(name, value);
    try {
      Settings::from_environment();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::setting);
      EXPECT_NE(error.text().find(name), std::string::npos) << error.text();
      EXPECT_NE(error.text().find(value), std::string::npos) << error.text();
      EXPECT_LT(error.text().size(), 256u);
      return error.what();
    }
    ADD_FAILURE() << name << "='" << value << "' was accepted";
    return "";
  }

 private:
  static void clear() {
    for (const auto& [name, value] : Settings{}.table()) unsetenv(name.c_str());
  }
};

TEST_F(SettingsTest, UnsetAndEmptyVariablesGiveTheDefaults) {
  const auto expect_defaults = [] {
    const Settings settings = Settings::from_environment();
    EXPECT_EQ(settings.table(), Settings{}.table());
    EXPECT_TRUE(settings.transports.empty());
    EXPECT_EQ(settings.eager_max, 8192u);
    EXPECT_TRUE(settings.cross_memory);
    EXPECT_TRUE(settings.merge_windows);
    EXPECT_TRUE(settings.cuda_atomics);
    EXPECT_EQ(settings.cuda_wait, CudaWait::automatic);
    EXPECT_EQ(settings.ofi_gpu_memory, NetworkGpuMemory::automatic);
    EXPECT_EQ(settings.ofi_provider, "");
    EXPECT_EQ(settings.ofi_interface, "");
    EXPECT_EQ(settings.slots, 2u);
    EXPECT_FALSE(settings.spin.has_value());
    EXPECT_EQ(settings.timeout.count(), 0);
    EXPECT_FALSE(settings.check);
    EXPECT_FALSE(settings.thread_multiple);
    EXPECT_FALSE(settings.gpu_aware_mpi);
    EXPECT_EQ(settings.tuning_file, "");
    EXPECT_EQ(settings.collective_groups, 4u);
    EXPECT_EQ(settings.overlap, Overlap::off);
    EXPECT_EQ(settings.overlap_min, 65536u);
    EXPECT_EQ(settings.overlap_policy, OverlapPolicy::adaptive);
    EXPECT_EQ(settings.log_level, LogLevel::warn);
    EXPECT_EQ(settings.log_file, "");
    EXPECT_EQ(settings.trace_file, "");
  };
  expect_defaults();
  for (const auto& [name, value] : Settings{}.table()) set(name.c_str(), "");
  expect_defaults();
}

TEST_F(SettingsTest, ValidValuesAreTaken) {
  set("PENSTOCK_TRANSPORT", "proxy,peer,proxy");
  set("PENSTOCK_EAGER_MAX", "0");
  set("PENSTOCK_CMA", "0");
  set("PENSTOCK_RMA_MERGE", "0");
  set("PENSTOCK_CHANNEL_WORDS", "0");
  set("PENSTOCK_CUDA_ATOMICS", "0");
  set("PENSTOCK_CUDA_WAIT", "value");
  set("PENSTOCK_OFI_HMEM", "1");
  set("PENSTOCK_OFI_PROVIDER", "sockets");
  set("PENSTOCK_OFI_INTERFACE", "10.0.0.0/24");
  set("PENSTOCK_SLOTS", "3");
  set("PENSTOCK_SPIN_US", "0");
  set("PENSTOCK_TIMEOUT", "1.5");
  set("PENSTOCK_CHECK", "1");
  set("PENSTOCK_THREAD_MULTIPLE", "1");
  set("PENSTOCK_GPU_AWARE_MPI", "1");
  set("PENSTOCK_TUNE", "tune.json");
  set("PENSTOCK_COLL_GROUPS", "2");
  set("PENSTOCK_OVERLAP", "exact");
  set("PENSTOCK_OVERLAP_MIN", "1000");
  set("PENSTOCK_OVERLAP_POLICY", "never");
  set("PENSTOCK_LOG", "debug");
  set("PENSTOCK_LOG_FILE", "log.%p");
  const Settings settings = Settings::from_environment();
  EXPECT_EQ(settings.transports,
            (std::vector<std::string>{"peer", "proxy"}));  // best first, each once
  EXPECT_EQ(settings.eager_max, 0u);
  EXPECT_FALSE(settings.cross_memory);
  EXPECT_FALSE(settings.merge_windows);
  EXPECT_FALSE(settings.channel_words);
  EXPECT_FALSE(settings.cuda_atomics);
  EXPECT_EQ(settings.cuda_wait, CudaWait::value);
  EXPECT_EQ(settings.ofi_gpu_memory, NetworkGpuMemory::always);
  EXPECT_EQ(settings.ofi_provider, "sockets");
  EXPECT_EQ(settings.ofi_interface, "10.0.0.0/24");
  EXPECT_EQ(settings.slots, 3u);
  EXPECT_EQ(settings.spin, std::chrono::microseconds{0});
  EXPECT_EQ(settings.timeout, std::chrono::milliseconds{1500});
  EXPECT_TRUE(settings.check);
  EXPECT_TRUE(settings.thread_multiple);
  EXPECT_TRUE(settings.gpu_aware_mpi);
  EXPECT_EQ(settings.tuning_file, "tune.json");
  EXPECT_EQ(settings.collective_groups, 2u);
  EXPECT_EQ(settings.overlap, Overlap::exact);
  EXPECT_EQ(settings.overlap_min, 1000u);
  EXPECT_EQ(settings.overlap_policy, OverlapPolicy::never);
  EXPECT_EQ(settings.log_level, LogLevel::debug);
  EXPECT_EQ(settings.log_file, "log.%p");
}

TEST_F(SettingsTest, TransportsThatAreAllowed) {
  for (const auto name : transport_names) EXPECT_TRUE(Settings::from_environment().allows(name));
  set("PENSTOCK_TRANSPORT", "proxy");
  EXPECT_TRUE(Settings::from_environment().allows("proxy"));
  EXPECT_FALSE(Settings::from_environment().allows("peer"));
}

TEST_F(SettingsTest, ATinyTimeOutIsNotNever) {
  set("PENSTOCK_TIMEOUT", "0.0001");
  EXPECT_EQ(Settings::from_environment().timeout, std::chrono::milliseconds{1});
}

TEST_F(SettingsTest, InvalidValuesAreRefusedWithTheValidOnes) {
  for (const char* value :
       {"tcp", "ofi,tcp", "peer,", ",peer", "peer, proxy", "PEER", "peer,,proxy"}) {
    EXPECT_NE(refusal("PENSTOCK_TRANSPORT", value).find("give one or several of peer, ofi, proxy,"),
              std::string::npos);
  }
  for (const char* value : {"-1", "16k", "1e3", " 1", "1073741825", "99999999999999999999"}) {
    EXPECT_NE(refusal("PENSTOCK_EAGER_MAX", value).find("1073741824"), std::string::npos);
  }
  for (const char* name :
       {"PENSTOCK_CMA", "PENSTOCK_CHECK", "PENSTOCK_RMA", "PENSTOCK_RMA_MERGE",
        "PENSTOCK_CHANNEL_WORDS", "PENSTOCK_THREAD_MULTIPLE", "PENSTOCK_GPU_AWARE_MPI"}) {
    for (const char* value : {"2", "yes", "01", "on"}) {
      EXPECT_NE(refusal(name, value).find("0 or 1"), std::string::npos);
    }
  }
  for (const char* value : {"0", "1", "-2", "two", "65536"}) {
    EXPECT_NE(refusal("PENSTOCK_SLOTS", value).find("from 2"), std::string::npos);
  }
  for (const char* value : {"0", "-1", "1025", "few"}) {
    EXPECT_NE(refusal("PENSTOCK_COLL_GROUPS", value).find("from 1 to 1024"), std::string::npos);
  }
  for (const char* value : {"-1", "20us", "1000001"}) {
    EXPECT_NE(refusal("PENSTOCK_SPIN_US", value).find("from 0"), std::string::npos);
  }
  for (const char* value : {"-1", "nan", "inf", "1s", "1,5", "1e99", "40000000"}) {
    EXPECT_NE(refusal("PENSTOCK_TIMEOUT", value).find("seconds"), std::string::npos);
  }
  for (const char* value : {"verbose", "WARN", "3"}) {
    EXPECT_NE(refusal("PENSTOCK_LOG", value).find("off, error, warn, info, debug"),
              std::string::npos);
  }
  for (const char* value : {"on", "EXACT", "1"}) {
    EXPECT_NE(refusal("PENSTOCK_OVERLAP", value).find("give one of off, exact"), std::string::npos);
  }
  EXPECT_NE(refusal("PENSTOCK_OVERLAP", "traced").find("no traced mode"), std::string::npos);
  EXPECT_NE(refusal("PENSTOCK_OVERLAP_MIN", "0").find("from 1"), std::string::npos);
  EXPECT_NE(refusal("PENSTOCK_OVERLAP_POLICY", "naive").find("adaptive, always, never"),
            std::string::npos);
  for (const char* value : {"automatic", "VALUE", "spin", "1"}) {
    EXPECT_NE(refusal("PENSTOCK_CUDA_WAIT", value).find("auto, kernel, value"), std::string::npos);
  }
  for (const char* value : {"automatic", "on", "2"}) {
    EXPECT_NE(refusal("PENSTOCK_OFI_HMEM", value).find("auto, 0, 1"), std::string::npos);
  }
}

TEST_F(SettingsTest, MisspeltNamesAreFoundAndTheNearestIsNamed) {
  for (const auto& [name, value] : Settings{}.table()) set(name.c_str(), "");
  const std::vector<std::string> strangers{"PENSTOCK_TIMOUT", "PENSTOCK_SLOT",
                                           "PENSTOCK_TRANSPORTS"};
  const std::vector<std::string> others{"PENSTOCK_TEST_SEEDS", "PENSTOCK_ROOT", "PENSTOCK",
                                        "MY_PENSTOCK_SLOT"};
  for (const auto& name : strangers) set(name.c_str(), "3");
  for (const auto& name : others) set(name.c_str(), "3");
  auto unknown = unknown_settings();
  std::sort(unknown.begin(), unknown.end());
  const std::vector<std::pair<std::string, std::string>> expected{
      {"PENSTOCK_SLOT", "PENSTOCK_SLOTS"},
      {"PENSTOCK_TIMOUT", "PENSTOCK_TIMEOUT"},
      {"PENSTOCK_TRANSPORTS", "PENSTOCK_TRANSPORT"}};
  EXPECT_EQ(unknown, expected);
  for (const auto& name : strangers) unsetenv(name.c_str());
  for (const auto& name : others) unsetenv(name.c_str());
}

TEST_F(SettingsTest, EachVariableIsJudgedByItself) {
  set("PENSTOCK_SLOTS", "banana");
  set("PENSTOCK_CMA", "0");
  set("PENSTOCK_CHECK", "");
  set("PENSTOCK_CUDA_WAIT", "value");
  const std::vector<std::string> strangers{"PENSTOCK_TRNSPORT", "PENSTOCK_TEST_SEEDS",
                                           "PENSTOCK_ROOT", "PENSTOCK_SOMETHING_ELSE"};
  for (const auto& name : strangers) set(name.c_str(), "3");
  using Is = VariableVerdict::Is;
  const auto judged = [](const std::string& name) {
    for (const VariableVerdict& each : judge_environment())
      if (each.name == name) return each;
    ADD_FAILURE() << name << " is not judged";
    return VariableVerdict{};
  };
  EXPECT_EQ(judged("PENSTOCK_SLOTS").is, Is::invalid);
  EXPECT_EQ(judged("PENSTOCK_SLOTS").value, "banana");
  EXPECT_NE(judged("PENSTOCK_SLOTS").why.find("from 2"), std::string::npos);
  EXPECT_EQ(judged("PENSTOCK_CMA").is, Is::valid);
  EXPECT_FALSE(judged("PENSTOCK_CMA").for_tests);
  EXPECT_EQ(judged("PENSTOCK_CHECK").is, Is::valid);
  EXPECT_EQ(judged("PENSTOCK_CUDA_WAIT").is, Is::valid);
  EXPECT_TRUE(judged("PENSTOCK_CUDA_WAIT").for_tests);
  EXPECT_EQ(judged("PENSTOCK_TRNSPORT").is, Is::unknown);
  EXPECT_EQ(judged("PENSTOCK_TRNSPORT").nearest, "PENSTOCK_TRANSPORT");
  EXPECT_EQ(judged("PENSTOCK_SOMETHING_ELSE").is, Is::unknown);
  EXPECT_EQ(judged("PENSTOCK_SOMETHING_ELSE").nearest, "");
  EXPECT_EQ(judged("PENSTOCK_TEST_SEEDS").is, Is::elsewhere);
  EXPECT_TRUE(judged("PENSTOCK_TEST_SEEDS").for_tests);
  EXPECT_EQ(judged("PENSTOCK_ROOT").is, Is::elsewhere);
  for (const auto& name : strangers) unsetenv(name.c_str());
}

TEST_F(SettingsTest, SlotsFitTheLineFlag) {
  const std::uint64_t most = (std::uint64_t{1} << PENSTOCK_FLAG_BITS) - 1;
  if (most >= 65535) GTEST_SKIP() << "the flag is wide";
  set("PENSTOCK_SLOTS", std::to_string(most).c_str());
  EXPECT_EQ(Settings::from_environment().slots, most);
  refusal("PENSTOCK_SLOTS", std::to_string(most + 1).c_str());
}

}  // namespace
}  // namespace penstock::base
