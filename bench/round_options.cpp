// SPDX-License-Identifier: Apache-2.0
#include "round_options.hpp"

#include <charconv>

namespace penstock::bench {
namespace {

const std::map<std::string, DeviceKind> devices{{"host", DeviceKind::host},
                                                {"cuda", DeviceKind::cuda}};
const std::map<std::string, MemoryKind> memories{{"alloc", MemoryKind::alloc},
                                                 {"malloc", MemoryKind::malloc}};

}  // namespace

// CLI11 takes "-5" for a large one.
CLI::Validator size_of_message(std::size_t least) {
  constexpr std::size_t most = std::size_t{1} << 30;
  return {[least](const std::string& text) {
            std::size_t size = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, failure] = std::from_chars(text.data(), end, size);
            if (failure == std::errc{} && stop == end && size >= least && size <= most)
              return std::string();
            return text + " is not a whole number of bytes from " + std::to_string(least) + " to " +
                   std::to_string(most);
          },
          "BYTES"};
}

void add_round_options(CLI::App& app, Options& options) {
  app.add_option("--rounds", options.rounds, "Rounds of each side, interleaved")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations,
                 "Timed iterations in a round, all enqueued ahead (default: by size)")
      ->check(CLI::Range(1, 10000000));
  add_choice(app, "--memory", options.memory, memories,
             "Penstock's buffers: alloc (PST_Alloc_mem, the default) or malloc");
  add_choice(app, "--device", options.device, devices,
             "Streams and memory of: host (the default) or cuda");
  app.add_flag("--graph", options.graph, "cuda: capture the program and launch its graph");
}

}  // namespace penstock::bench
