// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>

namespace penstock::tool {

// Wrong use, found by every rank alike: rank 0 prints it and all ranks end with a nonzero status.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the launcher's variables say of the job, whether or not MPI understands them: how many
// processes it has started, and which of them this is. 0 and 0 without a launcher.
struct Launch {
  int ranks = 0, rank = 0;
};
Launch launch_of_environment();

// MPI and Penstock from start to end of a subcommand.
class Session {
 public:
  explicit Session(int thread_level);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  bool is_root() const noexcept { return rank_ == 0; }
  int thread_level() const noexcept { return thread_level_; }

  // First line of the MPI library's version, without what was configured into it.
  std::string mpi_name() const;

  // True when some host has fewer cores, as allowed to the job's ranks there, than ranks: waiting
  // in MPI is then mostly waiting for the core that the other rank spins on.
  bool oversubscribed() const;

 private:
  int thread_level_ = MPI_THREAD_SINGLE;
  int rank_ = 0;
  int size_ = 1;
};

const char* thread_level_name(int level) noexcept;

}  // namespace penstock::tool
