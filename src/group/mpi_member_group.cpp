// SPDX-License-Identifier: Apache-2.0
#include "group/mpi_member_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <string>

#include "base/backoff.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "group/mpi_check.hpp"

namespace penstock::group {

using base::Error;
using base::ErrorKind;

namespace {

// Where the window alone is known, its members find each other by this tag: two threads must not
// attach windows of the same members at once (penstock.h).
constexpr int attach_tag = 20567;

int ranks_in(MPI_Group group) {
  int size = 0;
  check_mpi(PMPI_Group_size(group, &size), "MPI_Group_size");
  return size;
}

}  // namespace

std::unique_ptr<MpiMemberGroup> MpiMemberGroup::of_window(MPI_Win window, const Watch& watch) {
  MPI_Group members = MPI_GROUP_NULL;
  check_mpi(PMPI_Win_get_group(window, &members), "MPI_Win_get_group");
  return std::unique_ptr<MpiMemberGroup>(new MpiMemberGroup(members, nullptr, watch));
}

std::unique_ptr<MpiMemberGroup> MpiMemberGroup::of_communicator(MPI_Comm comm, const Watch& watch) {
  if (comm == MPI_COMM_NULL)
    throw Error(ErrorKind::communicator, "the communicator is MPI_COMM_NULL");
  int inter = 0;
  check_mpi(PMPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter != 0)
    throw Error(ErrorKind::communicator,
                "an intercommunicator has no windows, and its groups are no team");
  MPI_Group members = MPI_GROUP_NULL;
  check_mpi(PMPI_Comm_group(comm, &members), "MPI_Comm_group");
  return std::unique_ptr<MpiMemberGroup>(new MpiMemberGroup(members, &comm, watch));
}

// Takes the group.
MpiMemberGroup::MpiMemberGroup(MPI_Group members, const MPI_Comm* comm, const Watch& watch)
    : members_(members) {
  try {
    open(comm, watch);
  } catch (...) {
    release();
    throw;
  }
}

// Not by MPI_Comm_dup: that would run the program's attribute copy functions.
void MpiMemberGroup::open(const MPI_Comm* comm, const Watch& watch) {
  MPI_Group world = MPI_GROUP_NULL;
  check_mpi(PMPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  const int size = ranks_in(members_);
  all_ranks_.resize(static_cast<std::size_t>(size));
  std::iota(all_ranks_.begin(), all_ranks_.end(), 0);
  world_ranks_.resize(all_ranks_.size());
  check_mpi(
      PMPI_Group_translate_ranks(members_, size, all_ranks_.data(), world, world_ranks_.data()),
      "MPI_Group_translate_ranks");
  PMPI_Group_free(&world);
  for (const int rank : world_ranks_)
    if (rank == MPI_UNDEFINED)
      throw Error(ErrorKind::communicator,
                  "it has members outside MPI_COMM_WORLD, which streams do not reach");
  meanwhile_ = watch(world_ranks_);
  if (comm != nullptr) group::meet(*comm, std::chrono::milliseconds(0), meanwhile_);
  if (comm != nullptr)
    check_mpi(PMPI_Comm_create(*comm, members_, &comm_), "MPI_Comm_create");
  else
    check_mpi(PMPI_Comm_create_group(MPI_COMM_WORLD, members_, attach_tag, &comm_),
              "MPI_Comm_create_group");
  check_mpi(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(PMPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
}

MpiMemberGroup::~MpiMemberGroup() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (!finalized) release();
}

void MpiMemberGroup::release() noexcept {
  if (comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
  if (members_ != MPI_GROUP_NULL) PMPI_Group_free(&members_);
}

namespace {

// Who waits sleeps: the others may need the core. Whether the request has ended in time.
bool await(MPI_Request& request, std::chrono::milliseconds limit,
           const std::function<bool()>& meanwhile) {
  const auto began = std::chrono::steady_clock::now();
  base::Backoff backoff(std::chrono::microseconds(0));
  for (;;) {
    int done = 0;
    check_mpi(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return true;
    if (limit.count() > 0 && std::chrono::steady_clock::now() - began > limit) return false;
    if (meanwhile) meanwhile();
    backoff.pause();
  }
}

// What a collective call of MPI's uses until it ends.
struct Letters {
  std::vector<int> sizes, starts;
  std::vector<std::byte> bytes;

  explicit Letters(std::size_t count) : sizes(count), starts(count) {}
  void make_room() {
    std::exclusive_scan(sizes.begin(), sizes.end(), starts.begin(), 0);
    bytes.resize(static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), 0)));
  }
};

}  // namespace

// What has not ended is left to MPI, and the communicator with it.
void MpiMemberGroup::await(MPI_Request request) {
  try {
    group::await(request, std::chrono::milliseconds(0), meanwhile_);
  } catch (...) {
    comm_ = MPI_COMM_NULL;
    throw;
  }
}

// Says once more why it was left to MPI.
void MpiMemberGroup::require_open() const {
  if (comm_ != MPI_COMM_NULL) return;
  if (meanwhile_) meanwhile_();
  throw Error(ErrorKind::communicator, "its members have not met before");
}

MemberGroup::Records MpiMemberGroup::exchange(const Records& records) {
  require_open();
  const std::size_t count = records.size();
  auto out = std::make_unique<Letters>(count), in = std::make_unique<Letters>(count);
  for (std::size_t i = 0; i < count; ++i) out->sizes[i] = static_cast<int>(records[i].size());
  out->make_room();
  for (std::size_t i = 0; i < count; ++i)
    std::copy(records[i].begin(), records[i].end(), out->bytes.begin() + out->starts[i]);
  try {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(PMPI_Ialltoall(out->sizes.data(), 1, MPI_INT, in->sizes.data(), 1, MPI_INT, comm_,
                             &request),
              "MPI_Ialltoall");
    await(request);
    in->make_room();
    check_mpi(PMPI_Ialltoallv(out->bytes.data(), out->sizes.data(), out->starts.data(), MPI_BYTE,
                              in->bytes.data(), in->sizes.data(), in->starts.data(), MPI_BYTE,
                              comm_, &request),
              "MPI_Ialltoallv");
    await(request);
  } catch (...) {
    // MPI may still use them.
    (void)out.release();
    (void)in.release();
    throw;
  }
  Records theirs(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = in->bytes.begin() + in->starts[i];
    theirs[i].assign(begin, begin + in->sizes[i]);
  }
  return theirs;
}

bool meet(MPI_Comm comm, std::chrono::milliseconds limit, const std::function<bool()>& meanwhile) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(PMPI_Ibarrier(comm, &request), "MPI_Ibarrier");
  return await(request, limit, meanwhile);
}

bool MpiMemberGroup::meet(std::chrono::milliseconds limit, const std::function<bool()>& meanwhile) {
  if (comm_ == MPI_COMM_NULL) {
    if (meanwhile) meanwhile();
    return false;
  }
  bool met = false;
  try {
    met = group::meet(comm_, limit, meanwhile);
  } catch (...) {
    comm_ = MPI_COMM_NULL;
    throw;
  }
  if (!met) comm_ = MPI_COMM_NULL;  // left to MPI, with the barrier that has not ended
  return met;
}

bool MpiMemberGroup::on_all(bool mine) {
  require_open();
  auto value = std::make_unique<int>(mine ? 1 : 0);
  try {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(PMPI_Iallreduce(MPI_IN_PLACE, value.get(), 1, MPI_INT, MPI_MIN, comm_, &request),
              "MPI_Iallreduce");
    await(request);
  } catch (...) {
    (void)value.release();  // MPI may still use it
    throw;
  }
  return *value != 0;
}

void MpiMemberGroup::members_of(MPI_Group group, std::vector<int>& found) const {
  if (group == MPI_GROUP_NULL) throw Error(ErrorKind::argument, "the group is MPI_GROUP_NULL");
  const int size = ranks_in(group);
  bool inside = size <= this->size();
  if (inside) {
    found.resize(static_cast<std::size_t>(size));
    check_mpi(PMPI_Group_translate_ranks(group, size, all_ranks_.data(), members_, found.data()),
              "MPI_Group_translate_ranks");
    inside = std::find(found.begin(), found.end(), MPI_UNDEFINED) == found.end();
  }
  if (!inside)
    throw Error(ErrorKind::argument, "the group has a process that is none of the window's");
}

MpiMemberGroup::MadeWindow MpiMemberGroup::create_window(std::span<std::byte> memory, int unit,
                                                         MPI_Info info) {
  MPI_Win window = MPI_WIN_NULL;
  const int code = PMPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size()), unit, info,
                                   comm_, &window);
  if (on_all(code == MPI_SUCCESS)) return {window, false};
  if (code == MPI_SUCCESS)
    PMPI_Win_free(&window);
  else
    base::log::info("MPI_Win_create: " + mpi_error_text(code) +
                    ": the window takes epochs of streams only");
  void* none = nullptr;
  check_mpi(PMPI_Win_allocate(0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &none, &window),
            "MPI_Win_allocate");
  return {window, true};
}

MemberGroup::Records MemberGroup::all_gather(std::span<const std::byte> mine) {
  return exchange(Records(world_ranks_.size(), {mine.begin(), mine.end()}));
}

void MemberGroup::together(const std::function<void()>& step) {
  int kind = 0;
  std::string text;
  try {
    step();
  } catch (const Error& error) {
    kind = static_cast<int>(error.kind());
    text = error.text();
  } catch (const std::exception& error) {
    kind = static_cast<int>(ErrorKind::resources);
    text = error.what();
  }
  if (on_all(kind == 0)) return;
  std::vector<std::byte> mine(sizeof kind + text.size());
  std::memcpy(mine.data(), &kind, sizeof kind);
  std::memcpy(mine.data() + sizeof kind, text.data(), text.size());
  const Records all = all_gather(mine);
  for (int member = 0; member < size(); ++member) {
    const auto& theirs = all[static_cast<std::size_t>(member)];
    std::memcpy(&kind, theirs.data(), sizeof kind);
    if (kind == 0) continue;
    throw Error(
        static_cast<ErrorKind>(kind),
        fmt::format("rank {}: {}", world_rank(member),
                    std::string_view(reinterpret_cast<const char*>(theirs.data()), theirs.size())
                        .substr(sizeof kind)));
  }
}

}  // namespace penstock::group
