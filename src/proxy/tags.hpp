// SPDX-License-Identifier: Apache-2.0
// The tags of the pairs that a receiver has accepted. MPI matches by (source, tag), so each source
// has its own; and a tag is given out again only when every message sent under it has been
// received.
#pragma once

#include <vector>

namespace penstock::proxy {

class Tags {
 public:
  Tags(int sources, int last) : last_(last), sources_(static_cast<std::size_t>(sources)) {}

  static constexpr int first = 1;  // the one before is that of notices

  int take(int source);  // throws Error(resources) when all are in use, std::bad_alloc
  void give_back(int source, int tag) noexcept {
    sources_[static_cast<std::size_t>(source)].free.push_back(tag);
  }

 private:
  struct TagSource {
    int next = first;
    std::vector<int> free;  // has room for all that are out
  };
  int last_;
  std::vector<TagSource> sources_;
};

}  // namespace penstock::proxy
