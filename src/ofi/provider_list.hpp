// SPDX-License-Identifier: Apache-2.0
// All providers of libfabric and all their network interfaces, for `penstock info`: which serve,
// and why the others do not.
#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"

namespace penstock::ofi {

struct ProviderVerdict {
  std::string provider;
  std::string fabric;
  std::string domain;
  std::string address;  // empty where it is none that people read
  bool serves = false;
  bool gpu_memory = false;  // and reads and writes memory of GPUs
  std::string why;
};

// Lists them in libfabric's order. Opens those that have all capabilities, and lets them take
// deferred work.
// Throws base::Error where libfabric is not there.
std::vector<ProviderVerdict> list_providers(const base::Settings& settings);

}  // namespace penstock::ofi
