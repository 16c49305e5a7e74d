// SPDX-License-Identifier: Apache-2.0
// What has been measured to be fastest: the file of PENSTOCK_TUNE.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "coll/algorithms.hpp"

namespace penstock::coll {

// Which collectives an entry is for: those of at most so many bytes, everything else being equal.
struct TuningKey {
  CollectiveKind collective{};
  bool on_gpu = false;
  int ranks = 1, nodes = 1;
  int node_ranks = 1;     // 0: the nodes differ
  std::size_t bytes = 0;  // the last, so that entries stand by their bytes

  friend auto operator<=>(const TuningKey&, const TuningKey&) = default;
};

// `shape`: rank 0's, whose blocks stand for those of all where they differ.
TuningKey tuning_key(CollectiveKind collective, bool on_gpu, const Shape& shape);

// The bytes of a key: `each`, or of `sends` their mean.
std::size_t tuning_bytes(std::size_t each, const std::vector<Block>& sends);

class Tuning {
 public:
  Tuning() = default;
  // Of JSON. Throws base::Error(setting), which says what is wrong with it.
  explicit Tuning(std::string_view text);

  // What the entry wishes that fits the key; "": there is none.
  std::string_view wish(const TuningKey& key) const;
  // What an entry wishes that needs no messages, on whatever nodes: one that fits the bytes, else
  // any; "": there is none. A member offers it before it knows of the others: member 0 decides by
  // its own file.
  std::string_view direct_wish(CollectiveKind collective, bool on_gpu, int ranks,
                               std::size_t bytes) const;
  // The names of those that have entries, each once.
  std::vector<std::string> collectives() const;

 private:
  std::map<TuningKey, std::string> wishes_;
};

// Of the file of that name; "": none, and no entries. Throws base::Error(setting) that names the
// file, and does not wait, whatever is there.
Tuning read_tuning(const std::string& path);

// That of PENSTOCK_TUNE, read when it is first needed; empty where the variable is. Throws
// base::Error(setting) that names the file.
const Tuning& tuning_of_library();

}  // namespace penstock::coll
