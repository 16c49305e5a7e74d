// SPDX-License-Identifier: Apache-2.0
#include "group/mpi_window_group.hpp"

#include <fmt/format.h>

#include <cstring>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "group/mpi_check.hpp"

namespace penstock::group {

using base::Error;
using base::ErrorKind;

namespace {

// Of the call that makes the communicator; a program that makes another with the same tag, in
// another thread at the same time, is not known.
constexpr int creation_tag = 20567;

class OwnGroup {
 public:
  explicit OwnGroup(MPI_Group group) : group_(group) {}
  ~OwnGroup() { PMPI_Group_free(&group_); }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;
  MPI_Group get() const noexcept { return group_; }

 private:
  MPI_Group group_;
};

MPI_Group group_of(MPI_Win window) {
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(PMPI_Win_get_group(window, &group), "MPI_Win_get_group");
  return group;
}

MPI_Group world_group() {
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(PMPI_Comm_group(MPI_COMM_WORLD, &group), "MPI_Comm_group");
  return group;
}

// MPI_UNDEFINED where `to` has no such process.
std::vector<int> translate(MPI_Group from, MPI_Group to) {
  int size = 0;
  check_mpi(PMPI_Group_size(from, &size), "MPI_Group_size");
  std::vector<int> ranks(static_cast<std::size_t>(size)), translated(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  check_mpi(PMPI_Group_translate_ranks(from, size, ranks.data(), to, translated.data()),
            "MPI_Group_translate_ranks");
  return translated;
}

class MpiWindowGroup final : public WindowGroup {
 public:
  explicit MpiWindowGroup(MPI_Win window) {
    const OwnGroup members(group_of(window)), world(world_group());
    world_ranks_ = translate(members.get(), world.get());
    for (const int rank : world_ranks_)
      if (rank == MPI_UNDEFINED)
        throw Error(ErrorKind::communicator,
                    "the window has members outside MPI_COMM_WORLD, which streams do not reach");
    check_mpi(PMPI_Comm_create_group(MPI_COMM_WORLD, members.get(), creation_tag, &comm_),
              "MPI_Comm_create_group");
    check_mpi(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(PMPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  }
  ~MpiWindowGroup() override {
    int finalized = 0;
    PMPI_Finalized(&finalized);
    if (!finalized && comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
  }

  Records all_gather(std::span<const std::byte> mine) override {
    return exchange(Records(world_ranks_.size(), {mine.begin(), mine.end()}));
  }

  Records exchange(const Records& records) override {
    const std::size_t count = records.size();
    std::vector<int> sizes(count), starts(count), their_sizes(count), their_starts(count);
    std::vector<std::byte> out;
    for (std::size_t i = 0; i < count; ++i) {
      starts[i] = static_cast<int>(out.size());
      sizes[i] = static_cast<int>(records[i].size());
      out.insert(out.end(), records[i].begin(), records[i].end());
    }
    check_mpi(PMPI_Alltoall(sizes.data(), 1, MPI_INT, their_sizes.data(), 1, MPI_INT, comm_),
              "MPI_Alltoall");
    std::exclusive_scan(their_sizes.begin(), their_sizes.end(), their_starts.begin(), 0);
    std::vector<std::byte> in(
        static_cast<std::size_t>(std::accumulate(their_sizes.begin(), their_sizes.end(), 0)));
    check_mpi(PMPI_Alltoallv(out.data(), sizes.data(), starts.data(), MPI_BYTE, in.data(),
                             their_sizes.data(), their_starts.data(), MPI_BYTE, comm_),
              "MPI_Alltoallv");
    Records theirs(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = in.begin() + their_starts[i];
      theirs[i].assign(begin, begin + their_sizes[i]);
    }
    return theirs;
  }

  void meet() override { check_mpi(PMPI_Barrier(comm_), "MPI_Barrier"); }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

void WindowGroup::together(const std::function<void()>& step) {
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

std::unique_ptr<WindowGroup> open_window_group(MPI_Win window) {
  return std::make_unique<MpiWindowGroup>(window);
}

std::vector<int> members_of(MPI_Win window, MPI_Group group) {
  const OwnGroup members(group_of(window));
  std::vector<int> found = translate(group, members.get());
  for (const int member : found)
    if (member == MPI_UNDEFINED)
      throw Error(ErrorKind::argument, "the group has a process that is none of the window's");
  return found;
}

}  // namespace penstock::group
