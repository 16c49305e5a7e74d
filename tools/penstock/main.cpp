// SPDX-License-Identifier: Apache-2.0
// The `penstock` command. It runs under mpiexec or alone, as one rank.
#include <penstock/penstock.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench.hpp"
#include "cg/cg.hpp"
#include "comb/comb.hpp"
#include "faces/faces.hpp"
#include "jacobi/jacobi.hpp"
#include "life/life.hpp"
#include "penstock/subcommands.hpp"

namespace {

using penstock::tool::Command;
using penstock::tool::Session;
using penstock::tool::UserError;

std::string version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  PST_Get_version(&major, &minor, &patch);
  return "penstock " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(patch);
}

void describe_command_line(CLI::App& app, Command& command) {
  app.description("Stream-triggered message passing: what is here, how fast, and in programs");
  app.get_formatter()->column_width(14);
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  penstock::tool::add_info(app, command);
  penstock::tool::add_doctor(app, command);
  penstock::life::add_life(app, command);
  penstock::faces::add_faces(app, command);
  penstock::jacobi::add_jacobi(app, command);
  penstock::cg::add_cg(app, command);
  penstock::comb::add_comb(app, command);
  penstock::bench::add_bench(app, command);
  penstock::tool::add_tune(app, command);
  penstock::tool::add_model(app, command);
  penstock::tool::add_plot(app, command);
  penstock::tool::add_completion(app, command);
  penstock::tool::add_manual(app, command);
}

// The words that no option and no subcommand took, in the order in which they were typed.
std::string unknown_words(const CLI::App& app, int argc, char** argv) {
  const std::vector<std::string> unknown = app.remaining(true);
  std::string text;
  for (int i = 1; i < argc; ++i) {
    if (std::find(unknown.begin(), unknown.end(), argv[i]) != unknown.end())
      text += std::string(" ") + argv[i];
  }
  return text;
}

// What can stand where the words end that were understood: empty where a subcommand is complete.
std::string known_words(const CLI::App& app) {
  if (const auto chosen = app.get_subcommands(); !chosen.empty())
    return known_words(*chosen.front());
  std::string text;
  for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; }))
    text += " " + known->get_name();
  return text;
}

// Help, or a wrong command line: said once, by rank 0, with the status that every rank ends with. A
// misspelt word is named, also where what it was meant to be is missing now.
int explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  constexpr int wrong_use = 2;
  const Session session(MPI_THREAD_SINGLE);
  const int status = error.get_exit_code() == 0 ? 0 : wrong_use;
  if (!session.is_root()) return status;
  const std::string unknown = unknown_words(app, argc, argv);
  const std::string known = known_words(app);
  if (status == 0 || (unknown.empty() && known.empty())) {
    app.exit(error);
  } else {
    const std::string what = unknown.empty() ? error.what() : "not understood:" + unknown;
    std::fprintf(stderr, "penstock: %s\n", what.c_str());
    if (!known.empty()) std::fprintf(stderr, "What can stand there:%s\n", known.c_str());
    std::fprintf(stderr, "Run with --help for more information.\n");
  }
  return status;
}

std::string text_of(const std::exception_ptr& thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
  }
  return "ended for an unknown reason";
}

// A launcher may drop what it has not read when it ends a job: MPICH's lost the message in 6 of 60
// runs on two busy cores.
void await_reader(int descriptor) {
  for (int unread = 0, looks = 0; looks < 1000; ++looks) {
    if (ioctl(descriptor, FIONREAD, &unread) != 0 || unread == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// An error of one rank ends the job, since the others may be waiting for it; and at once, since
// queues that wait for them would hold up its destructors. So what communicates catches no such
// error, and its destructors do not run.
[[noreturn]] void end_job() {
  int rank = 0, has_begun = 0, has_ended = 0;
  MPI_Initialized(&has_begun);
  MPI_Finalized(&has_ended);
  const bool has_mpi = has_begun && !has_ended;
  if (has_mpi) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "penstock: rank %d: %s\n", rank, text_of(std::current_exception()).c_str());
  std::fflush(nullptr);
  await_reader(STDERR_FILENO);
  if (has_mpi) MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

int run_alone(const Command& command) {
  try {
    return command.run_alone();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock: %s\n", error.what());
    return 1;
  }
}

int run(const Command& command) {
  if (command.run_alone) return run_alone(command);
  std::set_terminate(end_job);
  command.apply_environment();
  if (command.before_mpi)
    if (const std::optional<int> status = command.before_mpi()) return *status;
  const Session session(command.thread_level());
  try {
    return command.run(session);
  } catch (const UserError& error) {
    if (session.is_root()) std::fprintf(stderr, "penstock: %s\n", error.what());
    return 1;
  }
}

int run_words(int argc, char** argv) {
  Command command;
  CLI::App app;
  describe_command_line(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return explain(app, error, argc, argv);
  }
  return run(command);
}

// What has been printed must have arrived: on a full disk it has not.
bool output_is_whole() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::cout.good() && std::ferror(stdout) == 0) return true;
  std::fprintf(stderr,
               "penstock: standard output has not taken all that was printed: is its disk full?\n");
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const int status = run_words(argc, argv);
  return output_is_whole() || status != 0 ? status : 1;
}
