// SPDX-License-Identifier: Apache-2.0
// A layer over libfabric that maps counters as the CXI extension does: this machine's provider,
// with a thread that plays the NIC behind the registers. In a program of its own, or loaded before
// one that knows nothing of it, where PENSTOCK_TEST_MAPPED_COUNTERS switches it on.
#pragma once

#include <cstdint>

namespace penstock::ofi::nic {

// From now on fabrics are opened with it. They are closed before it is switched off.
void switch_on();
void switch_off();
std::uint64_t stores();  // into registers, since it was switched on

}  // namespace penstock::ofi::nic
