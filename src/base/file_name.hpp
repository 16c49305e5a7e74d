// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace penstock::base {

std::string host_name();
// The name of a file that every process writes for itself: %h becomes the host, %p the process
// number.
std::string expand_file_name(const std::string& pattern);

}  // namespace penstock::base
