// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace penstock::core {

class Library;

// What PST_Describe gives: versions, MPI, host, devices, transports and why each is or is not
// usable, settings, as JSON.
std::string describe(Library& library, const std::string& version);

}  // namespace penstock::core
