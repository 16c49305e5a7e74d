// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <vector>

#include "group/member_group.hpp"

namespace penstock::group {

// As MemberGroup::meet(), on any communicator. What has not ended is left to MPI.
bool meet(MPI_Comm comm, std::chrono::milliseconds limit, const std::function<bool()>& meanwhile);

class MpiMemberGroup final : public MemberGroup {
 public:
  // Collective over the processes of the window, or of the communicator. Throw
  // base::Error(communicator) where these reach beyond MPI_COMM_WORLD, base::Error(mpi). In some
  // MPIs both handles are of one type. While they wait for the others they call what `watch` makes;
  // but MPI's own calls wait by themselves: the one that makes the members' communicator, which
  // those of a communicator enter when all have come, and that of create_window().
  static std::unique_ptr<MpiMemberGroup> of_window(MPI_Win window, const Watch& watch);
  static std::unique_ptr<MpiMemberGroup> of_communicator(MPI_Comm comm, const Watch& watch);
  ~MpiMemberGroup() override;

  Records exchange(const Records& records) override;
  bool on_all(bool mine) override;
  bool meet(std::chrono::milliseconds limit, const std::function<bool()>& meanwhile) override;

  MPI_Comm comm() const noexcept { return comm_; }  // the members' own, by their ranks
  // Which members the processes of `group` are. Throws base::Error(argument) where one is none.
  // Takes no memory where `found` has room.
  void members_of(MPI_Group group, std::vector<int>& found) const;
  // Collective. MPI may refuse a window over these processes (Open MPI 4 for one process alone, or
  // between hosts): then each has one of its own, which takes epochs of streams only.
  struct MadeWindow {
    MPI_Win window = MPI_WIN_NULL;
    bool streams_only = false;
  };
  MadeWindow create_window(std::span<std::byte> memory, int unit, MPI_Info info);

 private:
  MpiMemberGroup(MPI_Group members, const MPI_Comm* comm, const Watch& watch);
  void open(const MPI_Comm* comm, const Watch& watch);
  void release() noexcept;
  void await(MPI_Request request);
  void require_open() const;

  MPI_Group members_ = MPI_GROUP_NULL;
  std::vector<int> all_ranks_;  // 0, 1, ...
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::function<bool()> meanwhile_;
};

}  // namespace penstock::group
