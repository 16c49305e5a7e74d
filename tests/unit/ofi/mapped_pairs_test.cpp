// SPDX-License-Identifier: Apache-2.0
// Pairs over a provider that maps its counters: a start is a store, and what is posted goes, and
// tells its end, without anybody's help.
#include <cstdint>

#include "unit/ofi/mapped_nic.hpp"
#include "unit/ofi/two.hpp"

namespace penstock::ofi {
namespace {

class OfiMappedPairs : public OfiTwo {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    // What orders a message before the word that a stream polls is the provider, inside its own
    // code, or the NIC.
    GTEST_SKIP() << "ThreadSanitizer does not see in which order the provider stores a message and "
                    "its signal";
#endif
    nic::switch_on();
  }
  void TearDown() override {
    OfiTwo::TearDown();
    leave();
    nic::switch_off();
  }
};

TEST_F(OfiMappedPairs, EveryStartOfASendIsOneStoreWhetherItWasPostedOrNot) {
  constexpr std::uint64_t epochs = 200;
  for (const unsigned entries : {500u, 3u, 0u}) {
    base::Settings settings = only_ofi();
    settings.ofi_entries = entries;
    settings.slots = epochs;  // so that a buffered send finds room, however late its receive is
    introduce(settings);
    if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
    for (const protocol::Mode mode :
         {protocol::Mode::standard, protocol::Mode::synchronous, protocol::Mode::buffered})
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{64}, std::size_t{50000}}) {
        SCOPED_TRACE(testing::Message()
                     << entries << " entries, "
                     << "mode " << static_cast<int>(mode) << ", " << bytes << " bytes");
        const std::uint64_t before = nic::stores();
        match(bytes, mode);
        run_ahead(epochs);
        free();
        // Where the receive lets the send go it rings, too.
        const bool rendezvous = mode == protocol::Mode::synchronous ||
                                (mode == protocol::Mode::standard && bytes > 16384);
        EXPECT_EQ(nic::stores() - before, rendezvous ? 2 * epochs : epochs);
      }
    if (entries == 0) {
      EXPECT_EQ(end(0).count("starts_posted"), 0u);
    } else {
      EXPECT_GT(end(0).count("starts_posted"), 0u);
    }
  }
}

TEST_F(OfiMappedPairs, CountersStartAgainFromZero) {
  base::Settings settings = only_ofi();
  settings.ofi_counter_limit = 16;
  introduce(settings);
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  for (const protocol::Mode mode : {protocol::Mode::standard, protocol::Mode::synchronous})
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{100000}}) {
      match(bytes, mode);
      run_ahead(300);
      free();
    }
}

}  // namespace
}  // namespace penstock::ofi
