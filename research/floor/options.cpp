// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace penstock::bench::floor {

void describe(CLI::App& app, Options& options) {
  app.description(
      "Ping-pong by the least code: two kernels for each message and nothing else. "
      "What the hardware and the launches leave to a library that does the same");
  app.add_option(
         "--sizes", options.sizes,
         "In bytes, with commas, multiples of 8 (default: 8 to 256 MiB; with --steps 8,1024)")
      ->delimiter(',');
  app.add_option("--modes", options.modes, "With commas: stream, graph")
      ->delimiter(',')
      ->check(CLI::IsMember({"stream", "graph"}))
      ->capture_default_str();
  app.add_option("--launches", options.launches,
                 "With commas: plain, dependent (programmatic dependent launch)")
      ->delimiter(',')
      ->check(CLI::IsMember({"plain", "dependent"}))
      ->capture_default_str();
  app.add_option("--handover", options.handover,
                 "When a kernel lets its successor's blocks in: at-once, early (behind its "
                 "predecessor's end), late (when nothing is waited for any more), never")
      ->check(CLI::IsMember(std::vector<std::string>(handover_names.begin(), handover_names.end())))
      ->capture_default_str();
  app.add_option("--caller", options.caller,
                 "Launches by cudaLaunchKernel (runtime) or cuLaunchKernelEx (driver)")
      ->check(CLI::IsMember({"runtime", "driver"}))
      ->capture_default_str();
  app.add_flag("--steps", options.steps,
               "Small messages, from the least code to what the library's kernels do, one thing "
               "after the other");
  app.add_option("--rounds", options.rounds, "Rounds, interleaved")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "Round trips in a round (default: by size)")
      ->check(CLI::Range(1, 10000000));
  app.add_flag("--check", options.check,
               "Fill and verify every byte of every message; times include that");
  app.add_flag("--json", options.as_json, "Print JSON lines");
}

std::vector<std::size_t> sizes_of(const Options& options) {
  std::vector<std::size_t> sizes = options.sizes;
  if (sizes.empty() && options.steps) sizes = {8, 1024};
  if (sizes.empty())
    for (std::size_t size = 8; size <= std::size_t{256} << 20; size *= 2) sizes.push_back(size);
  for (const std::size_t size : sizes)
    if (size == 0 || size % 8 != 0 || size > std::size_t{1} << 30)
      throw std::invalid_argument(
          fmt::format("--sizes: {} is not a multiple of 8 up to 1 GiB", size));
  return sizes;
}

int trips_for(const Options& options, std::size_t bytes) {
  if (options.iterations > 0) return options.iterations;
  if (bytes <= 65536) return 1000;
  if (bytes <= std::size_t{1} << 20) return 400;
  return bytes <= std::size_t{16} << 20 ? 100 : 20;
}

}  // namespace penstock::bench::floor
