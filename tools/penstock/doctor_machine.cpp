// SPDX-License-Identifier: Apache-2.0
// What the machine gives a job: cores, shared memory, copies between processes, limits.
#include <dirent.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "penstock/doctor_checks.hpp"

namespace penstock::tool::doctor {
namespace {

constexpr std::uint64_t mib = 1 << 20;

std::string in_mib(std::uint64_t bytes) {
  return fmt::format("{} MiB", bytes / mib);
}

std::string some(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// ---- Cores

Finding binding(const nlohmann::json& description) {
  const int cores = description.value("cores", 0), usable = description.value("cores_usable", 0);
  const int ranks = description.value("ranks_on_our_cores", 1);
  Finding finding{Level::ok, "cores.ranks", "", ""};
  finding.found = fmt::format("{} on {} of this machine's {}", some(ranks, "rank"), usable, cores);
  if (usable == 0) {
    finding.found = "hwloc does not tell the cores";
  } else if (ranks > usable) {
    finding.level = Level::fault;
    finding.found = fmt::format("{} may run on {}{}, and wait for each other there",
                                some(ranks, "rank"), some(usable, "core"),
                                usable < cores ? fmt::format(" alone, of {}", cores) : "");
    finding.cure = usable < cores
                       ? "mpiexec --bind-to none (taskset, cgroups and the batch system may bind, "
                         "too)"
                       : fmt::format("mpiexec -n {}, or use more hosts", usable);
  }
  return finding;
}

// Each rank has a thread of its own, and one for each stream or the progress of a transport.
Finding threads(const nlohmann::json& description) {
  const int usable = description.value("cores_usable", 0);
  const int ranks = description.value("ranks_on_our_cores", 1);
  Finding finding{Level::ok, "cores.threads", "", ""};
  finding.found = "there is a core for each rank's thread and one for its stream's";
  if (usable == 0 || usable >= 2 * ranks) return finding;
  finding.level = Level::note;
  // Without the core's number, so that ranks that are bound alike share a line.
  finding.found = fmt::format("{} on {}: threads of streams take turns with the ranks'",
                              some(ranks, "rank"), some(usable, "core"));
  finding.cure = usable < description.value("cores", 0)
                     ? "mpiexec --bind-to none, or give each rank two cores"
                     : fmt::format("mpiexec -n {}, or use more hosts", std::max(1, usable / 2));
  return finding;
}

Finding delay(const Known& known) {
  constexpr double worth_a_note = 0.25;
  const double all = known.ran + known.waited;
  const double share = all > 0 ? known.waited / all : 0;
  Finding finding{Level::ok, "cores.delay", "", ""};
  finding.found = "threads that are ready have a core";
  if (share < worth_a_note) return finding;
  finding.level = Level::note;
  finding.found =
      "threads that are ready wait for a core for more than a quarter of the time, as "
      "others run there";
  finding.cure = "top -H shows what runs; end it, or give the job more cores";
  return finding;
}

// ---- Copies between processes

// What the library says of its shared memory: "shared memory; why no copies".
std::string why_no_copies(const nlohmann::json& description) {
  for (const auto& transport : description.at("transports")) {
    const std::string why = transport.value("why", "");
    if (transport.value("name", "") == "peer" && why.find("; ") != std::string::npos)
      return why.substr(why.find("; ") + 2);
  }
  return "";
}

std::string ptrace_scope() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  std::string scope;
  file >> scope;
  return scope;
}

bool copies_are_switched_off(const nlohmann::json& environment) {
  const auto& variables = environment.at("variables");
  return std::any_of(variables.begin(), variables.end(), [](const auto& each) {
    return each.value("name", "") == "PENSTOCK_CMA" && each.value("value", "") == "0";
  });
}

// ---- Shared memory

// As the library's arenas grow: peer/arena.cpp.
constexpr std::uint64_t first_of_rank = mib / 4;
constexpr std::uint64_t growth_of_rank = 32 * mib;

// ---- Limits

rlimit limit(__rlimit_resource resource) {
  rlimit both{};
  getrlimit(resource, &both);
  return both;
}

std::string text_of_limit(rlim_t value, rlim_t unit) {
  return value == RLIM_INFINITY ? "unlimited" : std::to_string(value / unit);
}

int open_descriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int count = -3;  // the folder's own, and the two that every folder has
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

Finding files(int ranks_on_host) {
  const rlimit both = limit(RLIMIT_NOFILE);
  const auto open = static_cast<rlim_t>(std::max(0, open_descriptors()));
  // A rank has two for each other one of its host, MPI and networks as many again.
  const rlim_t needed = open + 64 + 4 * static_cast<rlim_t>(ranks_on_host);
  constexpr rlim_t comfortable = 1024;
  Finding finding{Level::ok, "limits.files", "", ""};
  finding.found = fmt::format("ulimit -n is {}", text_of_limit(both.rlim_cur, 1));
  if (both.rlim_cur >= std::max(needed, comfortable)) return finding;
  finding.level = both.rlim_cur < needed ? Level::fault : Level::note;
  finding.found += fmt::format(", for {} on this host there should be {}",
                               some(ranks_on_host, "rank"), std::max(needed, comfortable));
  const rlim_t wanted = std::max<rlim_t>(4096, needed);
  finding.cure = both.rlim_max >= wanted
                     ? fmt::format("ulimit -n {}", wanted)
                     : fmt::format("as root, in /etc/security/limits.conf: * - nofile {}", wanted);
  return finding;
}

bool has_entries(const char* folder) {
  std::error_code none;
  const std::filesystem::directory_iterator first(folder, none);
  return !none && first != std::filesystem::directory_iterator();
}

Finding locked() {
  const rlimit both = limit(RLIMIT_MEMLOCK);
  const bool has_network = has_entries("/sys/class/infiniband") || has_entries("/sys/class/cxi");
  Finding finding{Level::ok, "limits.locked", "", ""};
  finding.found = fmt::format("ulimit -l is {}{}", text_of_limit(both.rlim_cur, 1024),
                              both.rlim_cur == RLIM_INFINITY ? "" : " KiB");
  const rlim_t wanted = has_network ? RLIM_INFINITY : mib;
  if (both.rlim_cur >= wanted) return finding;
  finding.level = has_network ? Level::fault : Level::note;
  finding.found += ": too little for networks that register memory, libfabric's and MPI's";
  finding.cure = both.rlim_max == RLIM_INFINITY
                     ? "ulimit -l unlimited"
                     : "as root, in /etc/security/limits.conf: * - memlock unlimited";
  return finding;
}

// Of the control group: how many threads may begin, or "" where it sets no limit.
std::string left_in_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    const std::string folder = "/sys/fs/cgroup" + line.substr(3);
    std::string most;
    long now = 0;
    std::ifstream(folder + "/pids.max") >> most;
    std::ifstream(folder + "/pids.current") >> now;
    if (!most.empty() && most != "max") return std::to_string(std::stol(most) - now);
  }
  return "";
}

Finding processes(int ranks_on_host) {
  const rlimit both = limit(RLIMIT_NPROC);
  const auto needed = static_cast<rlim_t>(16 * ranks_on_host);
  const std::string left = left_in_group();
  Finding finding{Level::ok, "limits.threads", "", ""};
  finding.found = fmt::format("ulimit -u is {}", text_of_limit(both.rlim_cur, 1));
  const bool few = both.rlim_cur < needed;
  const bool few_in_group = !left.empty() && std::stol(left) < static_cast<long>(needed);
  if (!few && !few_in_group) return finding;
  finding.level = Level::fault;
  finding.found = fmt::format("{} leaves too few threads for {}: {} are wanted",
                              few ? "ulimit -u" : "pids.max of the control group",
                              some(ranks_on_host, "rank"), needed);
  finding.cure =
      few ? fmt::format("ulimit -u {}", std::max<rlim_t>(4096, needed))
          : "in a container: docker run --pids-limit=-1; else raise TasksMax of the unit";
  return finding;
}

}  // namespace

void examine_cores(Findings& findings, const Known& known) {
  findings.push_back(binding(known.description));
  findings.push_back(threads(known.description));
  findings.push_back(delay(known));
}

void examine_copies(Findings& findings, const Known& known) {
  const std::string why = known.description.is_null() ? "" : why_no_copies(known.description);
  const std::string scope = ptrace_scope();
  const std::string large = "; large messages between processes are copied twice";
  Finding finding{Level::note, "memory.copies", "", ""};
  if (copies_are_switched_off(known.environment)) {
    finding.found = "cross-memory copies are switched off (PENSTOCK_CMA=0)" + large;
    finding.cure = "unset PENSTOCK_CMA";
  } else if (!why.empty()) {
    finding.found = why + large;
    finding.cure =
        "as root: sysctl kernel.yama.ptrace_scope=0; in a container: docker run "
        "--cap-add=SYS_PTRACE";
  } else if (!known.description.is_null() && known.description.value("ranks_on_host", 1) > 1) {
    finding.level = Level::ok;
    finding.found = "the ranks of this host copy from each other's memory";
  } else if (!scope.empty() && scope != "0") {
    finding.found = fmt::format(
        "kernel.yama.ptrace_scope is {}, which may forbid cross-memory "
        "copies: two ranks would tell",
        scope);
    finding.cure = "mpiexec -n 2 penstock doctor; as root: sysctl kernel.yama.ptrace_scope=0";
  } else {
    finding.level = Level::ok;
    finding.found = "the kernel forbids no cross-memory copies (with two ranks they are tried)";
  }
  findings.push_back(finding);
}

void examine_shared_memory(Findings& findings, int ranks_on_host) {
  struct statvfs status {};
  Finding finding{Level::ok, "memory.shared", "", ""};
  if (statvfs("/dev/shm", &status) != 0) {
    findings.push_back({Level::fault, "memory.shared", "/dev/shm is not there",
                        "as root: mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm"});
    return;
  }
  const std::uint64_t all = status.f_blocks * status.f_frsize;
  const std::uint64_t left = status.f_bavail * status.f_frsize;
  const auto ranks = static_cast<std::uint64_t>(ranks_on_host);
  finding.found = fmt::format("/dev/shm has {}", in_mib(all));
  if (left < ranks * growth_of_rank) {
    finding.level = left < 4 * ranks * first_of_rank ? Level::fault : Level::note;
    finding.found += fmt::format(", {} are free, and {} may want {}", in_mib(left),
                                 some(ranks_on_host, "rank"), in_mib(ranks * growth_of_rank));
    finding.cure = all >= 2 * ranks * growth_of_rank
                       ? "ls -l /dev/shm shows what takes it: remove what no process uses"
                       : "as root: mount -o remount,size=50% /dev/shm; in a container: docker run "
                         "--shm-size=1g";
  }
  findings.push_back(finding);
}

// MPICH over UCX ends a process that finds 2 MiB of shared memory, or may open 12 files.
Findings what_keeps_mpi_from_beginning() {
  constexpr std::uint64_t least_bytes = 4 * mib;
  constexpr rlim_t least_files = 16;
  Findings findings;
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0 || status.f_bavail * status.f_frsize < least_bytes)
    examine_shared_memory(findings, 1);
  if (limit(RLIMIT_NOFILE).rlim_cur < least_files) findings.push_back(files(1));
  for (Finding& each : findings) each.level = Level::fault;
  return findings;
}

void examine_limits(Findings& findings, int ranks_on_host) {
  findings.push_back(files(ranks_on_host));
  findings.push_back(locked());
  findings.push_back(processes(ranks_on_host));
}

}  // namespace penstock::tool::doctor
