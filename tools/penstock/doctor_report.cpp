// SPDX-License-Identifier: Apache-2.0
#include "penstock/doctor_report.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>

namespace penstock::tool::doctor {
namespace {

using nlohmann::ordered_json;

constexpr const char* level_words[] = {"ok", "note", "fault"};

const char* word_of(Level level) {
  return level_words[static_cast<int>(level)];
}

std::string to_wire(const Findings& findings) {
  ordered_json list = ordered_json::array();
  for (const Finding& each : findings)
    list.push_back({static_cast<int>(each.level), each.name, each.found, each.cure});
  return list.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Findings from_wire(const std::string& text) {
  Findings findings;
  for (const auto& each : ordered_json::parse(text))
    findings.push_back({static_cast<Level>(each[0].get<int>()), each[1], each[2], each[3]});
  return findings;
}

std::vector<std::string> gather(const std::string& mine, const Session& session) {
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<std::size_t>(session.size())), offsets(lengths.size());
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  int total = 0;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    offsets[rank] = total;
    total += lengths[rank];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR,
              0, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (std::size_t rank = 0; session.is_root() && rank < lengths.size(); ++rank)
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[rank]),
                               static_cast<std::size_t>(lengths[rank])));
  return texts;
}

bool same(const Finding& one, const Finding& other) {
  return std::tie(one.level, one.name, one.found, one.cure) ==
         std::tie(other.level, other.name, other.found, other.cure);
}

// Beside the others of its name, so that a check's lines stand together.
void add(std::vector<SharedFinding>& all, const Finding& finding, int rank) {
  auto place = all.end();
  for (auto each = all.begin(); each != all.end(); ++each) {
    if (same(each->finding, finding)) return each->ranks.push_back(rank);
    if (each->finding.name == finding.name) place = each + 1;
  }
  all.insert(place, {finding, {rank}});
}

// "ranks 0-3, 7".
std::string text_of_ranks(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t first = 0, next = 0; first < ranks.size(); first = next) {
    while (next < ranks.size() && ranks[next] - ranks[first] == static_cast<int>(next - first))
      ++next;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[first]);
    if (next - first > 1) text += fmt::format("-{}", ranks[next - 1]);
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

// 0: no terminal, where a check has one line whatever its length.
std::size_t columns_of_output() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent) {
  if (columns < indent + 20) return text;
  std::string lines;
  std::size_t used = indent;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (used > indent && used + 1 + word.size() > columns) {
      lines += "\n" + std::string(indent, ' ');
      used = indent;
    }
    if (used > indent) lines += " ", ++used;
    lines += word;
    used += word.size();
  }
  return lines;
}

// The column at which what is found begins: behind the longest name.
std::size_t indent_of(const std::vector<SharedFinding>& findings) {
  constexpr std::size_t longest = 34;
  std::size_t width = 0;
  for (const SharedFinding& each : findings) width = std::max(width, each.finding.name.size());
  return 7 + std::min(width, longest) + 2;
}

// What is to be copied is never cut into lines.
void print_finding(const SharedFinding& each, std::size_t columns, std::size_t indent) {
  const Finding& finding = each.finding;
  const std::string ranks = each.ranks.empty() ? "" : text_of_ranks(each.ranks) + ": ";
  const std::string head =
      fmt::format("{:<5}  {:<{}}  ", word_of(finding.level), finding.name, indent - 9);
  fmt::print("{}{}\n", head, wrapped(ranks + finding.found, columns, indent));
  if (!finding.cure.empty()) fmt::print("       cure: {}\n", finding.cure);
}

int count(const std::vector<SharedFinding>& findings, Level level) {
  return static_cast<int>(
      std::count_if(findings.begin(), findings.end(),
                    [level](const SharedFinding& each) { return each.finding.level == level; }));
}

void print_json(const std::vector<SharedFinding>& findings) {
  ordered_json report{{"faults", count(findings, Level::fault)},
                      {"notes", count(findings, Level::note)}};
  report["findings"] = ordered_json::array();
  for (const SharedFinding& each : findings) {
    report["findings"].push_back({{"level", word_of(each.finding.level)},
                                  {"name", each.finding.name},
                                  {"found", each.finding.found},
                                  {"cure", each.finding.cure}});
    report["findings"].back()["ranks"] = each.ranks;
  }
  fmt::print("{}\n", report.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace

std::vector<SharedFinding> bring_together(const Findings& mine, const Session& session) {
  std::vector<SharedFinding> all;
  const std::vector<std::string> texts = gather(to_wire(mine), session);
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    for (const Finding& finding : from_wire(texts[rank])) add(all, finding, static_cast<int>(rank));
  for (SharedFinding& each : all)
    if (static_cast<int>(each.ranks.size()) == session.size()) each.ranks.clear();
  return all;
}

std::vector<SharedFinding> of_one(const Findings& findings) {
  std::vector<SharedFinding> all;
  for (const Finding& each : findings) all.push_back({each, {}});
  return all;
}

int print_report(const std::vector<SharedFinding>& findings, bool as_json) {
  const int faults = count(findings, Level::fault), notes = count(findings, Level::note);
  if (as_json) {
    print_json(findings);
    return faults > 0 ? 1 : 0;
  }
  const std::size_t columns = columns_of_output(), indent = indent_of(findings);
  for (const SharedFinding& each : findings) print_finding(each, columns, indent);
  fmt::print("\n{} fault{}, {} note{}\n", faults, faults == 1 ? "" : "s", notes,
             notes == 1 ? "" : "s");
  return faults > 0 ? 1 : 0;
}

}  // namespace penstock::tool::doctor
