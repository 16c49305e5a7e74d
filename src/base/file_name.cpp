// SPDX-License-Identifier: Apache-2.0
#include "base/file_name.hpp"

#include <unistd.h>

#include <array>

namespace penstock::base {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string expand_file_name(const std::string& pattern) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next != 'h' && next != 'p') {
      path += pattern[i];
      continue;
    }
    path += next == 'h' ? host_name() : std::to_string(getpid());
    ++i;
  }
  return path;
}

}  // namespace penstock::base
