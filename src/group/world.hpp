// SPDX-License-Identifier: Apache-2.0
// The processes of the job: who we are, who lives on the same host, who has died; collective
// exchange for initialisation.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace penstock::group {

enum class ThreadLevel { single, funneled, serialized, multiple };
ThreadLevel thread_level_of(int provided) noexcept;      // from MPI's number
const char* name_of(ThreadLevel thread_level) noexcept;  // "MPI_THREAD_SINGLE" and so on

// First line of MPI_Get_library_version, of the MPI that this process has loaded; also before
// MPI_Init.
std::string loaded_mpi();

class World {
 public:
  // Collective over MPI_COMM_WORLD. Throws base::Error(mpi).
  static std::unique_ptr<World> join();
  virtual ~World() = default;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  ThreadLevel thread_level() const noexcept { return thread_level_; }
  const std::string& host() const noexcept { return host_; }  // ours
  const std::string& mpi_version() const noexcept { return mpi_version_; }
  int processes_on_host() const noexcept { return processes_on_host_; }

  // Collective.
  virtual std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) = 0;

  // Collective. Runs a step of the initialisation on every process, and throws base::Error on all
  // when it fails on one, with that rank and its cause: a process that gave up alone would leave
  // the others in the next collective call. Such calls come first in a step. Returns when all
  // processes have done it.
  void together(const std::function<void()>& step);
  bool given_up() const noexcept { return given_up_; }  // a step has failed somewhere

  // Collective, inside MPI_Finalize. Calls meanwhile() again and again until every process is
  // ready() or has given up; this one gives up when meanwhile() says false. True: all were ready
  // when they came. Looks for dead processes too, as the monitor has ended by now.
  bool end_together(const std::function<bool()>& ready,
                    const std::function<bool()>& meanwhile) noexcept;

  // Set once the process has ended, as far as this host can tell (false for ever for processes of
  // other hosts). Never cleared.
  virtual const std::atomic<bool>& dead(int rank) const noexcept = 0;
  // Asked for again and again: where there are many ranks it must not look at each.
  virtual bool anybody_dead() const noexcept;
  // Waits until some process dies, wake() is called or the time is over (negative: no limit), and
  // sets the flags. Called by the monitor thread.
  virtual void watch(int milliseconds) noexcept = 0;
  virtual void wake() noexcept = 0;

 protected:
  // Set by the constructor.
  int rank_ = 0;
  int size_ = 1;
  ThreadLevel thread_level_ = ThreadLevel::single;
  std::string host_, mpi_version_;
  int processes_on_host_ = 1;

 private:
  // end_together(), from the time on at which this process is ready, or will not be: true if all
  // are.
  virtual bool meet(bool ready, const std::function<bool()>&) noexcept { return ready; }

  bool given_up_ = false;
};

}  // namespace penstock::group
