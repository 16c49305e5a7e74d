// SPDX-License-Identifier: Apache-2.0
// Which provider of libfabric is taken, over which interface, and what is said about the others.
#include "ofi/provider.hpp"
#include "ofi/libfabric.hpp"

#include <gtest/gtest.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "ofi/fabric.hpp"
#include "ofi/provider_list.hpp"

namespace penstock::ofi {
namespace {

using base::Settings;

std::string refusal(const Settings& settings, const JobLayout& around = {}) {
  try {
    const FabricInfo info = choose_provider(settings, around);
    return std::string("took ") + info->fabric_attr->prov_name + " on " + info->domain_attr->name;
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::transport);
    return error.what();
  }
}

Settings over(const std::string& interface) {
  Settings settings;
  settings.ofi_interface = interface;
  return settings;
}

bool something_serves() {
  const auto verdicts = list_providers({});
  return std::any_of(verdicts.begin(), verdicts.end(),
                     [](const ProviderVerdict& one) { return one.serves; });
}

// libfabric without any provider that defers work (its `sockets` is one) leaves nothing to choose
// from.
class OfiProvider : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!something_serves()) GTEST_SKIP() << "no provider of this libfabric defers work";
  }
};

TEST(OfiProviderList, EveryInterfaceHasOneVerdictAndAReason) {
  std::set<std::string> seen;
  for (const ProviderVerdict& one : list_providers({})) {
    const std::string name = one.provider + "|" + one.fabric + "|" + one.domain + "|" + one.address;
    EXPECT_TRUE(seen.insert(name).second) << name << " twice";
    EXPECT_FALSE(one.why.empty()) << name;
  }
}

TEST(OfiProviderList, SaysWhichCapabilityIsMissing) {
  for (const ProviderVerdict& one : list_providers({})) {
    if (one.provider == "udp") {
      EXPECT_NE(one.why.find("FI_EP_RDM"), std::string::npos) << one.why;
    } else if (one.provider == "tcp;ofi_rxm") {
      EXPECT_NE(one.why.find("FI_TRIGGER"), std::string::npos) << one.why;
    } else {
      continue;
    }
    EXPECT_FALSE(one.serves);
  }
}

TEST_F(OfiProvider, WhatIsChosenIsListedAsServing) {
  const FabricInfo chosen = choose_provider({}, {});
  const auto verdicts = list_providers({});
  EXPECT_TRUE(std::any_of(verdicts.begin(), verdicts.end(), [&](const ProviderVerdict& one) {
    return one.serves && one.provider == chosen->fabric_attr->prov_name &&
           one.domain == chosen->domain_attr->name && one.address == address_of(*chosen);
  }));
  EXPECT_NE(chosen->caps & FI_TRIGGER, 0u);
  EXPECT_EQ(chosen->next, nullptr);
}

TEST_F(OfiProvider, TheEnvironmentOfTheUserStays) {
  setenv("FI_SOCKETS_PE_WAITTIME", "7", 1);
  unsetenv("HFI_NO_BACKTRACE");
  prepare_environment();
  EXPECT_STREQ(std::getenv("FI_SOCKETS_PE_WAITTIME"), "7");
  EXPECT_STREQ(std::getenv("HFI_NO_BACKTRACE"), "1");
  unsetenv("FI_SOCKETS_PE_WAITTIME");
}

TEST_F(OfiProvider, TheSettingsRestrictTheChoice) {
  Settings settings;
  settings.ofi_provider = "nonesuch";
  EXPECT_NE(refusal(settings).find("PENSTOCK_OFI_PROVIDER"), std::string::npos);
  for (const ProviderVerdict& one : list_providers(settings))
    EXPECT_FALSE(one.serves) << one.provider;
  EXPECT_NE(refusal(over("nonesuch0")).find("PENSTOCK_OFI_INTERFACE"), std::string::npos);
  settings.ofi_provider = choose_provider({}, {})->fabric_attr->prov_name;
  EXPECT_EQ(choose_provider(settings, {})->fabric_attr->prov_name, settings.ofi_provider);
}

TEST_F(OfiProvider, AnInterfaceIsNamedByItsNameItsAddressOrItsNetwork) {
  for (const ProviderVerdict& one : list_providers({})) {
    if (!one.serves) continue;
    for (const std::string& name : {one.domain, one.address, one.fabric}) {
      if (name.empty()) continue;
      const FabricInfo chosen = choose_provider(over(name), {});
      EXPECT_TRUE(name == chosen->domain_attr->name || name == address_of(*chosen) ||
                  name == chosen->fabric_attr->name)
          << name;
    }
  }
}

TEST_F(OfiProvider, LoopbackIsTakenInsideOneHostAndNeverBetweenHosts) {
  const auto verdicts = list_providers({});
  const bool has_loopback = std::any_of(
      verdicts.begin(), verdicts.end(),
      [](const ProviderVerdict& one) { return one.serves && one.address == "127.0.0.1"; });
  if (!has_loopback) GTEST_SKIP() << "no provider offers loopback";
  EXPECT_TRUE(is_loopback(*choose_provider({}, {})));
  JobLayout hosts;
  hosts.all_here = false;
  EXPECT_NE(refusal(over("127.0.0.1"), hosts).find("loopback does not reach"), std::string::npos);
  EXPECT_EQ(refusal({}, hosts).find("took sockets on lo"), std::string::npos);
}

// ---- Networks of their own, each in a process of its own, since libfabric looks at the interfaces
// once.

void require(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "cannot %s\n", what);
  _exit(77);
}

void run(const std::string& command) {
  require(std::system((command + " >/dev/null 2>&1").c_str()) == 0, command.c_str());
}

void write(const char* path, const std::string& text) {
  std::FILE* const file = std::fopen(path, "w");
  require(file != nullptr, path);
  std::fputs(text.c_str(), file);
  std::fclose(file);
}

// Who is not root is root in a user namespace of its own.
void enter_empty_network() {
  if (unshare(CLONE_NEWNET) == 0) return;
  const std::string user = std::to_string(getuid());
  require(unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0, "make a network namespace");
  write("/proc/self/uid_map", "0 " + user + " 1");
}

[[noreturn]] void report(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  _exit(0);
}

// 77: such networks cannot be made here.
bool is_done_or_skipped(int status) {
  return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
}

class OfiNetworks : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(OfiNetworks, AHostWithIPv6AloneIsServed) {
  EXPECT_EXIT(
      {
        enter_empty_network();
        run("ip link set lo up && ip link add a type veth peer name b && ip link set a up && ip "
            "link set b up");
        run("ip addr add fd00:1::1/64 dev a nodad");
        JobLayout hosts;
        hosts.all_here = false;
        try {
          const FabricInfo chosen = choose_provider({}, hosts);
          report(chosen->addr_format == FI_SOCKADDR_IN6 ? "chosen " + address_of(*chosen)
                                                        : "wrong format");
        } catch (const base::Error& error) {
          report(error.what());
        }
      },
      is_done_or_skipped, "chosen fd00:1::1|no provider of libfabric|cannot ");
}

TEST_F(OfiNetworks, LinkLocalAddressesAreRefused) {
  EXPECT_EXIT(
      {
        enter_empty_network();
        run("ip link set lo up && ip link add a type veth peer name b && ip link set a up && ip "
            "link set b up");
        run("ip addr add fe80::1/64 dev a nodad");
        JobLayout hosts;
        hosts.all_here = false;
        report(refusal({}, hosts));
      },
      is_done_or_skipped, "link-local|no provider of libfabric|cannot ");
}

TEST_F(OfiNetworks, IPv4IsPreferred) {
  EXPECT_EXIT(
      {
        enter_empty_network();
        run("ip link set lo up && ip link add a type veth peer name b && ip link set a up && ip "
            "link set b up");
        run("ip addr add fd00:1::1/64 dev a nodad && ip addr add 10.9.8.7/24 dev b");
        JobLayout hosts;
        hosts.all_here = false;
        try {
          report("chosen " + address_of(*choose_provider({}, hosts)));
        } catch (const base::Error& error) {
          report(error.what());
        }
      },
      is_done_or_skipped, "chosen 10.9.8.7|no provider of libfabric|cannot ");
}

// Messages of a process to itself would never arrive, and nobody would say so.
TEST_F(OfiNetworks, AHostWhoseLoopbackIsDownIsRefused) {
  EXPECT_EXIT(
      {
        enter_empty_network();
        run("ip link add a type veth peer name b && ip link set a up && ip link set b up");
        run("ip addr add 10.9.8.7/24 dev a");
        JobLayout hosts;
        hosts.all_here = false;
        report(refusal({}, hosts));
      },
      is_done_or_skipped, "ip link set lo up|no provider of libfabric|cannot ");
}

TEST_F(OfiNetworks, AnIdentityOfItsOwn) {
  const std::string ours = network_identity();
  EXPECT_EQ(ours, network_identity());
  EXPECT_EXIT(
      {
        const std::string before = network_identity();
        enter_empty_network();
        report(before == network_identity() ? "the same" : "another");
      },
      is_done_or_skipped, "another|cannot ");
}

// ---- A domain that refuses

int open_no_counter(fid_domain*, fi_cntr_attr*, fid_cntr**, void*) {
  return -FI_ENOSYS;
}

fid_cntr fake_counter{};
int close_nothing(fid*) {
  return 0;
}
int open_fake_counter(fid_domain*, fi_cntr_attr*, fid_cntr** counter, void*) {
  static fi_ops ops{};
  ops.size = sizeof ops;
  ops.close = close_nothing;
  fake_counter.fid.ops = &ops;
  *counter = &fake_counter;
  return 0;
}
int refuse_control(fid*, int, void*) {
  return -FI_ENOSYS;
}

struct FakeDomain : fid_domain {
  fi_ops operations{};
  fi_ops_domain domain_operations{};

  explicit FakeDomain(int (*open_counter)(fid_domain*, fi_cntr_attr*, fid_cntr**, void*))
      : fid_domain{} {
    operations.size = sizeof operations;
    operations.control = refuse_control;
    domain_operations.size = sizeof domain_operations;
    domain_operations.cntr_open = open_counter;
    fid.ops = &operations;
    ops = &domain_operations;
  }
};

TEST_F(OfiProvider, HowFarCountersCountIsFoundByTrying) {
  const Fabric fabric(choose_provider({}, {}));
  const std::uint64_t narrow = std::uint64_t{1} << 30, wide = std::uint64_t{1} << 46;
  const std::uint64_t limit = fabric.counter_limit();
  EXPECT_EQ(limit,
            fabric.provider() == "sockets" ? narrow : wide);  // those of sockets have 31 bits
}

TEST(OfiTrial, TheReasonNamesTheCallAndWhatItSaid) {
  FakeDomain without_counters(open_no_counter);
  EXPECT_NE(
      refusal_of_deferred_work(&without_counters).find("fi_cntr_open: Function not implemented"),
      std::string::npos);
  FakeDomain without_work(open_fake_counter);
  EXPECT_NE(refusal_of_deferred_work(&without_work).find("FI_QUEUE_WORK: Function not implemented"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::ofi
