// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

class Library;

// What PST_Describe gives: versions, MPI, host, devices, transports and why each is or is not
// usable, settings, as JSON. `large_messages`: what has become of those of PENSTOCK_OVERLAP.
std::string describe(Library& library, const std::string& version,
                     const std::vector<std::pair<std::string, std::uint64_t>>& large_messages);

}  // namespace penstock::core
