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
  const auto given_out = static_cast<std::size_t>(tags.next - first + 1);
  if (tags.free.capacity() < given_out) tags.free.reserve(2 * given_out);
  return tags.next++;
}

}  // namespace penstock::proxy
