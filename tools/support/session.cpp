// SPDX-License-Identifier: Apache-2.0
#include "support/session.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <penstock/penstock.hpp>
#include <utility>

namespace penstock::tool {
namespace {

// The cores that this process may run on.
cpu_set_t allowed_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  return cores;
}

// Launchers that bind give each rank cores of its own: what counts is the union over the ranks of
// the host.
int cores_of(MPI_Comm host) {
  const cpu_set_t mine = allowed_cores();
  cpu_set_t all;
  MPI_Allreduce(&mine, &all, static_cast<int>(sizeof all), MPI_BYTE, MPI_BOR, host);
  return CPU_COUNT(&all);
}

// Ranks that the launcher of another MPI has started are alone, each for itself: how many they are
// says its environment.
void warn_of_foreign_launcher(const std::string& mpi) {
  const Launch launch = launch_of_environment();
  if (launch.ranks < 2 || launch.rank != 0) return;
  std::fprintf(stderr,
               "penstock: warning: %d processes were started, and each is "
               "alone: this command is built for %s, and the launcher is of "
               "another MPI (on Debian: mpiexec.mpich, mpiexec.openmpi)\n",
               launch.ranks, mpi.c_str());
}

}  // namespace

Launch launch_of_environment() {
  for (const auto& [size_name, rank_name] :
       {std::pair{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
        std::pair{"PMI_SIZE", "PMI_RANK"}}) {
    const char* size = std::getenv(size_name);
    const char* rank = std::getenv(rank_name);
    if (size != nullptr && rank != nullptr && std::atoi(size) > 1)
      return {std::atoi(size), std::atoi(rank)};
  }
  return {};
}

Session::Session(int thread_level) {
  if (MPI_Init_thread(nullptr, nullptr, thread_level, &thread_level_) != MPI_SUCCESS) {
    throw std::runtime_error("MPI_Init_thread failed");
  }
  return_errors();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (size_ == 1) warn_of_foreign_launcher(mpi_name());
}

Session::~Session() {
  MPI_Finalize();
}

std::string Session::mpi_name() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string name(text, static_cast<std::size_t>(length));
  name.resize(std::min(name.find_first_of(",\n"), name.size()));
  const auto version = name.find("Version:");
  if (version != std::string::npos) {
    const auto number = name.find_first_not_of(" \t", version + 8);
    name = name.substr(0, version) + (number == std::string::npos ? "" : name.substr(number));
  }
  return name;
}

bool Session::oversubscribed() const {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host);
  int ranks = 0;
  MPI_Comm_size(host, &ranks);
  int mine = ranks > cores_of(host) ? 1 : 0;
  MPI_Comm_free(&host);
  int any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any != 0;
}

const char* thread_level_name(int level) noexcept {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

}  // namespace penstock::tool
