// SPDX-License-Identifier: Apache-2.0
// What a library over libfabric's deferred work cannot be faster than, between the same two
// processes and in the same run: a write that a counter releases, and an atomic addition, chained
// to it, that tells the receiver. It does not use Penstock.
#pragma once

#include "device.hpp"

namespace penstock::bench {

// Null, with the reason, where the machine cannot run the chain of this name, the same on both
// ranks. Collective. Everything is opened for a round and closed after it, so that no thread of it
// is awake while others are measured.
std::unique_ptr<Side> make_chain_side(const std::string& name, const Traffic& traffic, bool check,
                                      std::string& why_not);

}  // namespace penstock::bench
