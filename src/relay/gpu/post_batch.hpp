// SPDX-License-Identifier: Apache-2.0
// The posts that an enqueue call starts or waits for, which one kernel will serve.
#pragma once

#include <array>

#include "gpu/launch_batch.hpp"
#include "gpu/staged_copy_shape.hpp"
#include "relay/gpu/kernels.hpp"

namespace penstock::relay {

class PostList {
 public:
  bool empty() const noexcept { return count_ == 0; }
  bool takes(const Post& post, bool = false) const noexcept {
    return empty() || (count_ < posts_.size() &&
                       blocks_ + post.blocks <= gpu::StagedCopyShape::most_blocks_together);
  }
  // The waits of one call stand all at gates, or none does.
  void add(const Post& post, bool at_gates = false) noexcept {
    posts_[count_++] = post;
    blocks_ += post.blocks;
    at_gates_ = at_gates;
  }
  cudaError_t launch_starts(const Launch& launch) const noexcept {
    return penstock::relay::launch_starts(launch, {posts_.data(), count_});
  }
  cudaError_t launch_waits(const Launch& launch) const noexcept {
    const auto launch_them = at_gates_ ? &launch_waits_at_gates : &penstock::relay::launch_waits;
    return launch_them(launch, {posts_.data(), count_});
  }
  template <class Visit>
  void each(Visit visit) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) visit(posts_[i].id);
  }
  void clear() noexcept { count_ = blocks_ = 0; }

 private:
  std::size_t count_ = 0;
  std::size_t blocks_ = 0;
  bool at_gates_ = false;
  std::array<Post, largest_batch> posts_;
};

using PostBatch = gpu::CallBatch<PostList>;

}  // namespace penstock::relay
