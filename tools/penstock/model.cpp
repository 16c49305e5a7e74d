// SPDX-License-Identifier: Apache-2.0
// penstock model: strong scaling of a halo exchange from the latency of messages and one GPU's
// time, beside what others have measured.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "penstock/model_input.hpp"
#include "penstock/subcommands.hpp"

namespace penstock::tool {
namespace {

using nlohmann::ordered_json;

struct ModelOptions {
  std::string file;
  std::vector<int> ranks;              // empty: the usual ones
  std::vector<std::string> latencies;  // WAY=FILE:SIDE
  std::vector<std::string> beside;     // US, or WAY=US
  bool as_json = false;
};

struct Row {
  int ranks;
  Layout layout;
};

constexpr const char* left_out =
    "left out: kernels that take longer than their cells do, where these are few; launches,\n"
    "packing and waits for them; ranks that wait for the latest one; messages that meet in the\n"
    "network; and what a ping-pong, whose receive always stands, does not see of a send that\n"
    "waits for one";

class Model {
 public:
  Model(ModelInput input, const std::vector<int>& ranks) : input_(std::move(input)) {
    for (const Published& each : input_.published) way_number(each.way);  // throws
    base_us_ = model_step(input_.machine, input_.problem, 1).times.front().us;
    for (const int count : ranks) rows_.push_back(row(count));
  }

  void print() const {
    fmt::print(
        "# {}\n# {} cells of {} bytes, {} ranks and {} links a node\n# {:>6} {:>11} {:>12} {:>9}",
        input_.source.empty() ? "model" : input_.source, fmt::join(input_.problem.cells, " x "),
        input_.problem.cell_bytes, input_.machine.ranks_a_node, input_.machine.links_a_node,
        "ranks", "grid", "compute us", "bytes");
    for (const Way& way : input_.machine.ways)
      fmt::print(" {:>16} {:>9}", way.name + " us", "speed-up");
    fmt::print("\n");
    for (const Row& each : rows_) print_row(each);
    if (!input_.published.empty()) print_published();
  }

  // As `penstock plot scaling` reads them.
  void print_json() const {
    for (const Row& each : rows_) {
      ordered_json line{{"benchmark", "model"},
                        {"of", "step"},
                        {"ranks", each.ranks},
                        {"rank_grid", each.layout.grid},
                        {"cells", input_.problem.cells},
                        {"unit", "us"},
                        {"compute_us", each.layout.times.front().compute_us},
                        {"largest_bytes", each.layout.largest_bytes}};
      for (std::size_t i = 0; i < each.layout.times.size(); ++i) {
        const double us = each.layout.times[i].us;
        line[input_.machine.ways[i].name] = {{"median", us}, {"low", us}, {"high", us}};
      }
      for (const Published& published : input_.published)
        if (published.ranks == each.ranks)
          line["published"][published.way] = {
              {"us", us_of(published)},
              {"of_model", each.layout.times[way_number(published.way)].us}};
      fmt::print("{}\n", line.dump());
    }
  }

 private:
  Row row(int ranks) const { return {ranks, model_step(input_.machine, input_.problem, ranks)}; }
  double speedup(const Row& each, std::size_t way) const {
    return base_us_ / each.layout.times[way].us;
  }

  double us_of(const Published& published) const {
    return published.us > 0 ? published.us : base_us_ / published.speedup;
  }

  std::size_t way_number(const std::string& name) const {
    const auto& ways = input_.machine.ways;
    const auto found =
        std::find_if(ways.begin(), ways.end(), [&](const Way& way) { return way.name == name; });
    if (found == ways.end()) throw UserError("published: there are no latencies of " + name);
    return static_cast<std::size_t>(found - ways.begin());
  }

  void print_row(const Row& each) const {
    fmt::print("{:8} {:>11} {:12.2f} {:9.0f}", each.ranks,
               fmt::format("{}", fmt::join(each.layout.grid, "x")),
               each.layout.times.front().compute_us, each.layout.largest_bytes);
    for (std::size_t way = 0; way < each.layout.times.size(); ++way)
      fmt::print(" {:16.2f} {:9.1f}", each.layout.times[way].us, speedup(each, way));
    fmt::print("\n");
  }

  // The best of a way in the table, as those that are published are the best of theirs.
  const Row& best(std::size_t way) const {
    return *std::max_element(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
      return speedup(a, way) < speedup(b, way);
    });
  }

  void print_published() const {
    fmt::print(
        "\n# us of a step as it was measured and of the model, by how much it misses; speed-ups; "
        "the model's\n# own best\n# {:>14} {:>8} {:>10} {:>10} {:>7} {:>9} {:>9} {:>9} {:>9}\n",
        "way", "ranks", "measured", "model", "miss", "speed-up", "model", "best", "at ranks");
    for (const Published& each : input_.published) {
      const std::size_t way = way_number(each.way);
      const double us = us_of(each), model = row(each.ranks).layout.times[way].us;
      const Row& top = best(way);
      fmt::print("{:>16} {:8} {:10.1f} {:10.1f} {:6.0f}% {:9.1f} {:9.1f} {:9.1f} {:9}\n", each.way,
                 each.ranks, us, model, 100 * (model / us - 1), base_us_ / us, base_us_ / model,
                 speedup(top, way), top.ranks);
    }
    fmt::print("{}\n", left_out);
  }

  ModelInput input_;
  double base_us_ = 0;  // of the first way on one rank
  std::vector<Row> rows_;
};

void take_latencies(ModelInput& input, const std::string& text) {
  const std::size_t equals = text.find('='), colon = text.rfind(':');
  if (equals == std::string::npos || equals == 0 || colon == std::string::npos || colon < equals)
    throw UserError(text + ": --latency takes WAY=FILE:SIDE, such as stream=lines.jsonl:penstock");
  take_latencies(input, text.substr(0, equals), text.substr(equals + 1, colon - equals - 1),
                 text.substr(colon + 1));
}

void add_beside(ModelInput& input, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string way = equals == std::string::npos ? "" : text.substr(0, equals);
  const std::string us = equals == std::string::npos ? text : text.substr(equals + 1);
  double value = 0;
  if (!CLI::detail::lexical_cast(us, value) || !std::isfinite(value) || value < 0)
    throw UserError(text + ": --beside takes US, or WAY=US, of 0 or more");
  bool found = false;
  for (Way& each : input.machine.ways) {
    if (!way.empty() && each.name != way) continue;
    each.beside_us = value;
    found = true;
  }
  if (!found) throw UserError(text + ": there are no latencies of " + way);
}

// Of the usual ones those that fit.
std::vector<int> ranks_of(const ModelOptions& options, const Problem& problem) {
  if (!options.ranks.empty()) return options.ranks;
  std::vector<int> ranks;
  for (int each = 1; each <= 8192; each *= 2)
    if (has_grid(problem, each)) ranks.push_back(each);
  return ranks;
}

int run_model(const ModelOptions& options) {
  ModelInput input = read_model_input(options.file);
  for (const std::string& text : options.latencies) take_latencies(input, text);
  for (const std::string& text : options.beside) add_beside(input, text);
  const std::vector<int> ranks = ranks_of(options, input.problem);
  const Model model(std::move(input), ranks);
  if (options.as_json)
    model.print_json();
  else
    model.print();
  return 0;
}

}  // namespace

void add_model(CLI::App& parent, Command& command) {
  const auto options = std::make_shared<ModelOptions>();
  CLI::App* const app = parent.add_subcommand(
      "model", "Strong scaling of a halo exchange, from latencies and one GPU's time");
  app->add_option("file", options->file, "JSON: latencies, times of one rank, cells, nodes")
      ->required()
      ->type_name("FILE");
  app->footer(
      "The file is an object with these keys; docs/scale.md has more of each, and\n"
      "docs/results/model has files.\n"
      "  cells          two or three numbers of a periodic grid\n"
      "  cell_bytes     bytes of a cell (8)\n"
      "  ghosts         layers of ghost cells (1)\n"
      "  latency        {WAY: {\"between\": [[bytes, us], ...], \"inside\": ...}}, one way,\n"
      "                 between nodes and, where it differs, inside one\n"
      "  compute        [[cells, us], ...] of a step on one rank, or {WAY: [...]}\n"
      "  few_cells      below the first of these: \"proportional\", or \"straight\"\n"
      "  ranks_a_node, links_a_node\n"
      "                 consecutive ranks of a node, its links to others (1, 1)\n"
      "  published      [{\"way\": WAY, \"ranks\": N, \"us\": US of a step}, ...], or\n"
      "                 \"speedup\" in place of \"us\"\n"
      "  source         where all that is from");
  app->add_option("--ranks", options->ranks,
                  "Numbers of ranks, with commas; 1, 2, 4 to 8192 that fit where none are given")
      ->delimiter(',')
      ->check(CLI::Range(1, most_ranks));
  app->add_option("--latency", options->latencies,
                  "Takes a way's latencies from lines of `bench latency --json`: WAY=FILE:SIDE");
  app->add_option("--beside", options->beside,
                  "us that a step of several ranks takes besides, whatever its size: US, or WAY=US")
      ->delimiter(',');
  app->add_flag("--json", options->as_json, "Print JSON, a line for each number of ranks");
  app->callback(
      [options, &command] { command.run_alone = [options] { return run_model(*options); }; });
}

}  // namespace penstock::tool
