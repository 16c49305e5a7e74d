// SPDX-License-Identifier: Apache-2.0
// How many halves of pairs each transport of this process has been matched for, and why better ones
// were passed over.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

class PairCounts {
 public:
  // A transport, and why it did not serve the pair.
  using Reason = std::pair<std::string, std::string>;

  struct Seen {
    std::map<std::string, std::uint64_t> served;  // by transport
    std::map<Reason, std::uint64_t> passed_over;
  };

  // Any thread.
  void add(const std::string& transport, const std::vector<Reason>& passed_over);
  Seen seen() const;
  std::string text() const;  // for the log; empty if nothing has been matched

 private:
  mutable std::mutex mutex_;
  Seen seen_;
};

}  // namespace penstock::core
