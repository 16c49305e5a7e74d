// SPDX-License-Identifier: Apache-2.0
#include "group/world_ranks.hpp"

#include <algorithm>
#include <numeric>

#include "base/no_copy.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"

namespace penstock::group {

namespace {

class Group : private base::NoCopy {
 public:
  using Maker = int (*)(MPI_Comm, MPI_Group*);
  Group(Maker maker, MPI_Comm comm) { check_mpi(maker(comm, &group_), "MPI_Comm_group"); }
  ~Group() {
    if (group_ != MPI_GROUP_NULL) PMPI_Group_free(&group_);
  }

  std::vector<int> ranks_in(const Group& other) const {
    int size = 0;
    check_mpi(PMPI_Group_size(group_, &size), "MPI_Group_size");
    std::vector<int> own(static_cast<std::size_t>(size));
    std::vector<int> result(own.size());
    std::iota(own.begin(), own.end(), 0);
    check_mpi(PMPI_Group_translate_ranks(group_, size, own.data(), other.group_, result.data()),
              "MPI_Group_translate_ranks");
    std::replace(result.begin(), result.end(), MPI_UNDEFINED, not_in_world);
    return result;
  }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

bool all_inside(const std::vector<int>& ranks) {
  return std::find(ranks.begin(), ranks.end(), not_in_world) == ranks.end();
}

}  // namespace

bool Members::all_in_world() const {
  return all_inside(local) && all_inside(remote);
}

Members members_of(MPI_Comm comm) {
  Members members;
  int intercommunicator = 0;
  check_mpi(PMPI_Comm_test_inter(comm, &intercommunicator), "MPI_Comm_test_inter");
  members.intercommunicator = intercommunicator != 0;
  const Group world(PMPI_Comm_group, MPI_COMM_WORLD);
  members.local = Group(PMPI_Comm_group, comm).ranks_in(world);
  if (members.intercommunicator)
    members.remote = Group(PMPI_Comm_remote_group, comm).ranks_in(world);
  return members;
}

}  // namespace penstock::group
