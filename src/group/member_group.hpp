// SPDX-License-Identifier: Apache-2.0
// The members of a window, or of a communicator that has been promised, on a communicator of their
// own: what they tell each other while it is made and freed. All of it is collective over them and
// calls MPI.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace penstock::group {

// Made for these world ranks, it is called again and again while a member waits for the others;
// what it throws ends the wait, and the group.
using Watch = std::function<std::function<bool()>(std::vector<int> world_ranks)>;

class MemberGroup {
 public:
  using Records = std::vector<std::vector<std::byte>>;  // by member

  virtual ~MemberGroup() = default;
  int rank() const noexcept { return rank_; }  // ours among the members
  int size() const noexcept { return static_cast<int>(world_ranks_.size()); }
  int world_rank(int member) const noexcept {
    return world_ranks_[static_cast<std::size_t>(member)];
  }
  const std::vector<int>& world_ranks() const noexcept { return world_ranks_; }

  Records all_gather(std::span<const std::byte> mine);
  // To each member its record, from each one ours.
  virtual Records exchange(const Records& records) = 0;
  virtual bool on_all(bool mine) = 0;  // whether it is so on each member
  // As its watch, meanwhile() is called, which may be empty, until all members have come. False:
  // some member has not within this time (0: no limit). It throws what meanwhile() throws; after
  // either nobody meets any more.
  virtual bool meet(std::chrono::milliseconds limit, const std::function<bool()>& meanwhile) = 0;
  // Runs a step on every member and throws base::Error on all when it fails on one. The step makes
  // no collective call.
  void together(const std::function<void()>& step);

 protected:
  int rank_ = 0;
  std::vector<int> world_ranks_;
};

}  // namespace penstock::group
