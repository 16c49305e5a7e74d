// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "base/file_name.hpp"
#include "group/mpi_check.hpp"
#include "group/private_communicator.hpp"
#include "group/process_watch.hpp"
#include "group/world.hpp"

namespace penstock::group {

ThreadLevel thread_level_of(int provided) noexcept {
  switch (provided) {
    case MPI_THREAD_MULTIPLE:
      return ThreadLevel::multiple;
    case MPI_THREAD_SERIALIZED:
      return ThreadLevel::serialized;
    case MPI_THREAD_FUNNELED:
      return ThreadLevel::funneled;
    default:
      return ThreadLevel::single;
  }
}

namespace {

class MpiWorld final : public World {
 public:
  MpiWorld() {
    host_ = base::host_name();
    mpi_version_ = loaded_mpi();
    check_mpi(PMPI_Comm_rank(comm_.get(), &rank_), "MPI_Comm_rank");
    check_mpi(PMPI_Comm_size(comm_.get(), &size_), "MPI_Comm_size");
    int provided = MPI_THREAD_SINGLE;
    check_mpi(PMPI_Query_thread(&provided), "MPI_Query_thread");
    thread_level_ = thread_level_of(provided);
    together([this] { meet_processes(); });
  }

  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) override {
    const int length = static_cast<int>(mine.size());
    std::vector<int> lengths(static_cast<std::size_t>(size_)), offsets(lengths.size());
    check_mpi(PMPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm_.get()),
              "MPI_Allgather");
    const auto total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    if (total > INT_MAX)
      throw base::Error(base::ErrorKind::resources,
                        "the processes' addresses together exceed 2 GiB");
    if (total == 0) return std::vector<std::vector<std::byte>>(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
    std::vector<std::byte> all(static_cast<std::size_t>(total));
    check_mpi(PMPI_Allgatherv(mine.data(), length, MPI_BYTE, all.data(), lengths.data(),
                              offsets.data(), MPI_BYTE, comm_.get()),
              "MPI_Allgatherv");
    std::vector<std::vector<std::byte>> result;
    for (std::size_t i = 0; i < lengths.size(); ++i)
      result.emplace_back(all.begin() + offsets[i], all.begin() + offsets[i] + lengths[i]);
    return result;
  }

  bool meet(bool ready, const std::function<bool()>& meanwhile) noexcept override {
    if (!votes_) return false;
    votes_->ours = ready ? 1 : 0;
    MPI_Request everybody = MPI_REQUEST_NULL;
    int done = 0;
    if (PMPI_Iallreduce(&votes_->ours, &votes_->of_all, 1, MPI_INT, MPI_MIN, comm_.get(),
                        &everybody) != MPI_SUCCESS)
      return false;
    // A process that has given up still brings its vote to the others.
    for (int rounds_left = ready ? 0 : 100; !done && (meanwhile() || --rounds_left > 0);
         std::this_thread::yield()) {
      watch(0);
      if (PMPI_Test(&everybody, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    }
    if (done) return votes_->of_all != 0;
    leave_to_mpi();
    return false;
  }

  const std::atomic<bool>& dead(int rank) const noexcept override { return watch_->dead(rank); }
  bool anybody_dead() const noexcept override { return watch_->anybody_dead(); }
  void watch(int milliseconds) noexcept override { watch_->watch(milliseconds); }
  void wake() noexcept override { watch_->wake(); }

 private:
  // What each process says when it parts, and what that comes to: 1 is ready, 0 has given up.
  struct Votes {
    int ours = 0;
    int of_all = 0;
    Votes* next = nullptr;  // left to MPI
  };

  // A meeting has not ended: MPI may still read and write its votes.
  void leave_to_mpi() noexcept {
    static Votes* left = nullptr;
    comm_.leave_to_mpi();
    votes_->next = left;
    left = votes_.release();
    votes_.reset(new (std::nothrow) Votes);
  }
  void meet_processes() {
    const ProcessPlace& mine = mark_.place();
    const auto gathered = all_gather(std::as_bytes(std::span(&mine, 1)));
    std::vector<ProcessPlace> places(gathered.size());
    for (std::size_t i = 0; i < places.size(); ++i)
      std::memcpy(&places[i], gathered[i].data(), sizeof places[i]);
    watch_.emplace(places, rank_);
    processes_on_host_ = 1 + watch_->found();
  }

  PrivateCommunicator comm_;
  ProcessMark mark_;
  std::optional<ProcessWatch> watch_;
  std::unique_ptr<Votes> votes_ = std::make_unique<Votes>();
};

}  // namespace

std::string loaded_mpi() {
  // Another MPI than that of the build may be loaded, and MPICH writes more than Open MPI's 256.
  constexpr std::size_t longest_of_any = 16384;
  std::string text(std::max<std::size_t>(MPI_MAX_LIBRARY_VERSION_STRING, longest_of_any), '\0');
  int length = 0;
  check_mpi(PMPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  text.resize(std::min(static_cast<std::size_t>(length),
                       text.find_first_of("\n,")));  // MPICH's goes on for lines, Open MPI's on one
  std::replace(text.begin(), text.end(), '\t', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return text;
}

std::unique_ptr<World> World::join() {
  return std::make_unique<MpiWorld>();
}

}  // namespace penstock::group
