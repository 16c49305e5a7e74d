// SPDX-License-Identifier: Apache-2.0
#include "proxy/tags.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace penstock::proxy {

int Tags::take(int source) {
  TagSource& tags = sources_[static_cast<std::size_t>(source)];
  if (!tags.free.empty()) {
    const int tag = tags.free.back();
    tags.free.pop_back();
    return tag;
  }
  if (tags.next > last_)
    throw base::Error(
        base::ErrorKind::resources,
        fmt::format(
            "proxy: all {} tags of the MPI library are taken by matched receives from rank {}: "
            "free requests that are no longer needed on both ends",
            last_ - first + 1, source));
  return tags.next++;
}

}  // namespace penstock::proxy
