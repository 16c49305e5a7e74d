// SPDX-License-Identifier: Apache-2.0
#include "support/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace penstock::tool {
namespace {

// Where a process writes its errors: "pipe:[...]", "/dev/pts/3"; empty where that is not told.
std::string errors_of(int process) {
  std::error_code failure;
  return std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/fd/2", failure);
}

bool is_hidden(const std::string& file) {
  return file.starts_with("pipe:") || file.starts_with("socket:");
}

struct Process {
  std::string name;
  int parent = 0;
};

Process look_at(int process) {
  Process found;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t begin = line.find('('), end = line.rfind(')');
  if (begin == std::string::npos || end == std::string::npos) return found;
  found.name = line.substr(begin + 1, end - begin - 1);
  if (line.size() > end + 4) found.parent = std::atoi(line.c_str() + end + 4);
  return found;
}

bool is_launcher(const std::string& name) {
  for (const char* part : {"mpiexec", "mpirun", "orterun", "prterun", "prte", "hydra"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

// Of the launcher that this process is a rank of, with nothing but launchers in between.
std::string terminal_of_launcher() {
  int process = getppid();
  for (int steps = 0; steps < 8 && process > 1; ++steps) {
    const Process found = look_at(process);
    if (!is_launcher(found.name)) return "";
    const std::string errors = errors_of(process);
    if (errors.starts_with("/dev/pts/") || errors.starts_with("/dev/tty")) return errors;
    if (!is_hidden(errors)) return "";
    process = found.parent;
  }
  return "";
}

}  // namespace

int terminal_of_errors() {
  if (isatty(STDERR_FILENO) != 0) return STDERR_FILENO;
  if (!is_hidden(errors_of(getpid()))) return -1;
  const std::string terminal = terminal_of_launcher();
  if (terminal.empty()) return -1;
  static const int descriptor = open(terminal.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  return descriptor;
}

}  // namespace penstock::tool
