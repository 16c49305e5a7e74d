// SPDX-License-Identifier: Apache-2.0
// Whether another program's MPI calls will come through libpenstock: the dynamic loader looks for a
// function in the libraries in the order in which `ldd` lists them.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <vector>

#include "penstock/doctor_checks.hpp"

namespace penstock::tool::doctor {
namespace {

[[noreturn]] void become_ldd(const std::string& program, int output) {
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execlp("ldd", "ldd", program.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t size = read(descriptor, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
}

// What `ldd` prints; empty where it fails.
std::string run_ldd(const std::string& program) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  const pid_t child = fork();
  if (child == 0) become_ldd(program, ends[1]);
  close(ends[1]);
  std::string text = child > 0 ? read_all(ends[0]) : "";
  close(ends[0]);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "";
}

struct Libraries {
  std::vector<std::string> mpi;  // in their order
  bool has_penstock = false, penstock_is_first = false;
  std::string penstock;  // where it is
  std::string missing;
};

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Of "name => /path (0x...)"; empty where there is none.
std::string path_in(const std::string& line) {
  const std::size_t begin = line.find("=> "), end = line.rfind(" (");
  if (begin == std::string::npos || end == std::string::npos || end < begin + 3) return "";
  return line.substr(begin + 3, end - begin - 3);
}

bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code failure;
  return one.empty() || std::filesystem::equivalent(one, other, failure) || failure;
}

Libraries read_libraries(const std::string& text) {
  Libraries libraries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string name;
    std::istringstream(line) >> name;
    name = base_name(name);
    if (line.find("not found") != std::string::npos) libraries.missing += " " + name;
    if (name.starts_with("libpenstock.so")) {
      libraries.has_penstock = true;
      libraries.penstock = path_in(line);
      libraries.penstock_is_first = libraries.mpi.empty();
    } else if (name.starts_with("libmpi.so") || name.starts_with("libmpich.so")) {
      libraries.mpi.push_back(name);
    }
  }
  return libraries;
}

Finding judge(const Libraries& libraries, const std::string& program,
              const nlohmann::json& environment) {
  const std::string preload = "export LD_PRELOAD=" + environment.value("library", "");
  const std::string ours = base_name(environment.value("mpi_library", ""));
  const auto fault = [&](const std::string& found, const std::string& cure) {
    return Finding{Level::fault, "recording.program", program + ": " + found, cure};
  };
  if (!libraries.missing.empty())
    return fault("not found are" + libraries.missing,
                 "export LD_LIBRARY_PATH with the folders of these libraries");
  if (libraries.mpi.empty())
    return {Level::note, "recording.program",
            program +
                ": needs no MPI library that ldd shows, so that it loads MPI later or has it "
                "inside",
            preload};
  for (const std::string& mpi : libraries.mpi)
    if (mpi != ours)
      return fault(fmt::format("takes {}, and libpenstock was built for {}", mpi, ours),
                   "build the program and Penstock with one MPI's mpicc");
  if (!libraries.has_penstock)
    return {Level::note, "recording.program",
            program + ": is not linked with libpenstock, so that nothing is recorded", preload};
  if (!libraries.penstock_is_first)
    return fault(fmt::format("{} stands before libpenstock: MPI calls are not recorded", ours),
                 "name libpenstock before the MPI library when linking, or " + preload);
  const std::string library = environment.value("library", "");
  if (!is_same_file(libraries.penstock, library))
    return {Level::note, "recording.program",
            fmt::format("{}: takes {}, and this command {}", program, libraries.penstock, library),
            "run the penstock command of that installation, or link the program with this one"};
  return {Level::ok, "recording.program", program + ": libpenstock stands before " + ours, ""};
}

}  // namespace

void examine_program(Findings& findings, const nlohmann::json& environment,
                     const std::string& program) {
  const std::string text = run_ldd(program);
  if (text.empty())
    findings.push_back({Level::fault, "recording.program",
                        program + ": ldd cannot tell its libraries: it is not there, or no dynamic "
                                  "program",
                        "give the path of the program itself, not of a script that starts it"});
  else
    findings.push_back(judge(read_libraries(text), program, environment));
}

}  // namespace penstock::tool::doctor
