// SPDX-License-Identifier: Apache-2.0
#include "base/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string_view>

#include "base/error.hpp"
#include "base/flag_bits.hpp"

namespace penstock::base {
namespace {

constexpr std::array<std::string_view, 5> level_names{"off", "error", "warn", "info", "debug"};
constexpr std::array<std::string_view, 3> wait_names{"auto", "kernel", "value"};
constexpr std::array<std::string_view, 3> throttle_names{"adaptive", "static", "application"};
constexpr std::array<std::string_view, 3> gpu_memory_names{"auto", "0", "1"};

constexpr std::array<std::string_view, 2> overlap_names{"off", "exact"};
constexpr std::array<std::string_view, 3> policy_names{"adaptive", "always", "never"};

constexpr std::uint64_t staging_limit = std::uint64_t{1} << 30;
constexpr std::uint64_t eager_limit = std::uint64_t{1} << 30;
// A line's flag must tell the epochs apart that share a slot: 2^w > SLOTS.
constexpr std::uint64_t slots_limit =
    std::min<std::uint64_t>(65535, (std::uint64_t{1} << PENSTOCK_FLAG_BITS) - 1);
constexpr std::uint64_t blocks_limit = 1024;
constexpr std::uint64_t node_ranks_limit = 1 << 20;
constexpr std::uint64_t groups_limit = 1024;
constexpr std::uint64_t waits_limit = 100;  // a device runs 128 kernels beside each other
constexpr std::uint64_t entries_limit = 65536;
constexpr std::uint64_t counter_limits[2] = {16, std::uint64_t{1} << 47};
constexpr std::uint64_t spin_limit = 1'000'000;  // a second
constexpr double timeout_limit = 365.0 * 86400;  // a year

[[noreturn]] void refuse(const char* name, std::string_view value, std::string_view valid) {
  throw Error(ErrorKind::setting, fmt::format("{}='{}' is not valid: {}", name, value, valid));
}

template <class Names>
std::string joined(const Names& names, const char* separator) {
  std::string text;
  for (const auto& name : names) {
    if (!text.empty()) text += separator;
    text += name;
  }
  return text;
}

// How a variable is read into its setting, and how the setting is shown.
struct Variable {
  const char* name;
  std::function<void(Settings&, std::string_view text)> read;  // throws Error(setting)
  std::function<std::string(const Settings&)> show;
  bool for_tests = false;  // of the library itself
};

Variable for_tests(Variable variable) {
  variable.for_tests = true;
  return variable;
}

template <class Number>
void assign(Number& field, std::uint64_t number) {
  field = static_cast<Number>(number);
}
template <class Number>
void assign(std::optional<Number>& field, std::uint64_t number) {
  field = static_cast<Number>(number);
}
void assign(std::optional<std::chrono::microseconds>& field, std::uint64_t number) {
  field = std::chrono::microseconds{static_cast<std::int64_t>(number)};
}

std::string text_of(std::uint64_t number) {
  return std::to_string(number);
}
std::string text_of(std::chrono::microseconds time) {
  return std::to_string(time.count());
}
template <class Number>
std::string text_of(const std::optional<Number>& number) {
  return number ? text_of(*number) : "automatic";
}

template <class Number>
Variable whole_number(const char* name, Number Settings::*field, std::uint64_t least,
                      std::uint64_t most, std::string_view unit = "") {
  const auto read = [=](Settings& settings, std::string_view text) {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, number);
    if (failure != std::errc{} || stop != end || number < least || number > most)
      refuse(name, text, fmt::format("give a whole number{} from {} to {}", unit, least, most));
    assign(settings.*field, number);
  };
  return {name, read, [=](const Settings& settings) { return text_of(settings.*field); }};
}

Variable on_or_off(const char* name, bool Settings::*field) {
  const auto read = [=](Settings& settings, std::string_view text) {
    if (text != "0" && text != "1") refuse(name, text, "give 0 or 1");
    settings.*field = text == "1";
  };
  return {name, read, [=](const Settings& settings) { return settings.*field ? "1" : "0"; }};
}

// One of several, by name: the names stand in the order of the values.
template <class Choice, class Names>
Variable choice(const char* name, const Names& names, Choice Settings::*field) {
  const auto read = [name, &names, field](Settings& settings, std::string_view text) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end())
      refuse(name, text, fmt::format("give one of {}", joined(names, ", ")));
    settings.*field = static_cast<Choice>(found - names.begin());
  };
  return {name, read, [&names, field](const Settings& settings) {
            return std::string(names[static_cast<std::size_t>(settings.*field)]);
          }};
}

Variable text(const char* name, std::string Settings::*field, const char* when_empty) {
  return {name, [=](Settings& settings, std::string_view given) { settings.*field = given; },
          [=](const Settings& settings) {
            return (settings.*field).empty() ? when_empty : settings.*field;
          }};
}

// The variable restricts the choice; the order stays that of quality.
Variable transports(const char* name) {
  const auto read = [=](Settings& settings, std::string_view text) {
    std::array<bool, transport_names.size()> allowed{};
    for (std::string_view rest = text;;) {
      const auto comma = rest.find(',');
      const auto found =
          std::find(transport_names.begin(), transport_names.end(), rest.substr(0, comma));
      if (found == transport_names.end())
        refuse(
            name, text,
            fmt::format("give one or several of {}, with commas", joined(transport_names, ", ")));
      allowed[static_cast<std::size_t>(found - transport_names.begin())] = true;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    for (std::size_t i = 0; i < allowed.size(); ++i)
      if (allowed[i]) settings.transports.emplace_back(transport_names[i]);
  };
  return {name, read, [](const Settings& settings) {
            return settings.transports.empty() ? "all" : joined(settings.transports, ",");
          }};
}

Variable timeout(const char* name) {
  const auto read = [=](Settings& settings, std::string_view text) {
    double seconds = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failure] =
        std::from_chars(text.data(), end, seconds, std::chars_format::fixed);
    // The comparison is written so that a NaN fails it.
    if (failure != std::errc{} || stop != end || !(seconds >= 0 && seconds <= timeout_limit))
      refuse(name, text,
             fmt::format("give seconds from 0 (never) to {:.0f}, with a fraction if need be",
                         timeout_limit));
    settings.timeout =
        std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(seconds * 1000))};
  };
  return {name, read, [](const Settings& settings) {
            const double seconds = static_cast<double>(settings.timeout.count()) / 1000;
            return seconds == 0 ? "never" : fmt::format("{}", seconds);
          }};
}

Variable overlap(const char* name) {
  Variable variable = choice(name, overlap_names, &Settings::overlap);
  variable.read = [read = std::move(variable.read), name](Settings& settings,
                                                          std::string_view text) {
    if (text == "traced")
      refuse(name, text,
             "this version has no traced mode, for programs whose receives may be longer than "
             "their messages; give one of off, exact");
    read(settings, text);
  };
  return variable;
}

std::vector<Variable> variables() {
  using S = Settings;
  constexpr const char* bytes = " of bytes";
  return {
      transports("PENSTOCK_TRANSPORT"),
      whole_number("PENSTOCK_EAGER_MAX", &S::eager_max, 0, eager_limit, bytes),
      on_or_off("PENSTOCK_RMA", &S::attach_windows),
      whole_number("PENSTOCK_RMA_EAGER", &S::window_eager_max, 0, eager_limit, bytes),
      on_or_off("PENSTOCK_RMA_MERGE", &S::merge_windows),
      on_or_off("PENSTOCK_CHANNEL_WORDS", &S::channel_words),
      whole_number("PENSTOCK_CUDA_EAGER_MAX", &S::cuda_eager_max, 0, eager_limit, bytes),
      whole_number("PENSTOCK_CUDA_WIDE_LINES", &S::cuda_wide_lines, 0, eager_limit, bytes),
      whole_number("PENSTOCK_CUDA_BLOCKS", &S::cuda_blocks, 2, blocks_limit),
      whole_number("PENSTOCK_CUDA_WAITS", &S::cuda_waits, 0, waits_limit),
      on_or_off("PENSTOCK_CUDA_DEPENDENT_LAUNCH", &S::cuda_dependent_launch),
      for_tests(on_or_off("PENSTOCK_CUDA_ATOMICS", &S::cuda_atomics)),
      for_tests(choice("PENSTOCK_CUDA_WAIT", wait_names, &S::cuda_wait)),
      on_or_off("PENSTOCK_CMA", &S::cross_memory),
      whole_number("PENSTOCK_OFI_EAGER_MAX", &S::ofi_eager_max, 0, eager_limit, bytes),
      whole_number("PENSTOCK_OFI_ENTRIES", &S::ofi_entries, 0, entries_limit),
      choice("PENSTOCK_OFI_THROTTLE", throttle_names, &S::ofi_throttle),
      for_tests(whole_number("PENSTOCK_OFI_COUNTER_LIMIT", &S::ofi_counter_limit, counter_limits[0],
                             counter_limits[1])),
      choice("PENSTOCK_OFI_HMEM", gpu_memory_names, &S::ofi_gpu_memory),
      text("PENSTOCK_OFI_PROVIDER", &S::ofi_provider, "any"),
      text("PENSTOCK_OFI_INTERFACE", &S::ofi_interface, "any"),
      whole_number("PENSTOCK_SLOTS", &S::slots, 2, slots_limit),
      whole_number("PENSTOCK_SPIN_US", &S::spin, 0, spin_limit, " of microseconds"),
      timeout("PENSTOCK_TIMEOUT"),
      on_or_off("PENSTOCK_CHECK", &S::check),
      on_or_off("PENSTOCK_THREAD_MULTIPLE", &S::thread_multiple),
      on_or_off("PENSTOCK_GPU_AWARE_MPI", &S::gpu_aware_mpi),
      whole_number("PENSTOCK_QUEUE_STAGING", &S::queue_staging, 0, staging_limit, bytes),
      text("PENSTOCK_COLL", &S::collective_algorithms, "as the library chooses"),
      whole_number("PENSTOCK_COLL_GROUPS", &S::collective_groups, 1, groups_limit),
      text("PENSTOCK_TUNE", &S::tuning_file, "none"),
      for_tests(whole_number("PENSTOCK_NODE_RANKS", &S::node_ranks, 0, node_ranks_limit)),
      overlap("PENSTOCK_OVERLAP"),
      whole_number("PENSTOCK_OVERLAP_MIN", &S::overlap_min, 1, eager_limit, bytes),
      choice("PENSTOCK_OVERLAP_POLICY", policy_names, &S::overlap_policy),
      choice("PENSTOCK_LOG", level_names, &S::log_level),
      text("PENSTOCK_LOG_FILE", &S::log_file, "standard error"),
      text("PENSTOCK_TRACE", &S::trace_file, "none"),
  };
}

// How many letters have to be added, left out or changed to make one of the other.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// The setting that was meant by a name that is none; empty where no name is near.
std::string nearest_setting(std::string_view name, const std::vector<Variable>& known) {
  constexpr std::size_t a_slip = 4;  // letters
  const auto nearest = std::min_element(
      known.begin(), known.end(), [name](const Variable& one, const Variable& other) {
        return distance(name, one.name) < distance(name, other.name);
      });
  return distance(name, nearest->name) <= a_slip ? nearest->name : "";
}

void judge_value(VariableVerdict& verdict, const Variable& variable) {
  verdict.for_tests = variable.for_tests;
  if (verdict.value.empty()) return;
  try {
    Settings settings;
    variable.read(settings, verdict.value);
  } catch (const Error& error) {
    verdict.is = VariableVerdict::Is::invalid;
    verdict.why = error.text();
  }
}

VariableVerdict judge(std::string_view name, std::string_view value,
                      const std::vector<Variable>& known) {
  VariableVerdict verdict;
  verdict.name = name;
  verdict.value = value;
  const auto variable = std::find_if(known.begin(), known.end(),
                                     [name](const Variable& one) { return name == one.name; });
  verdict.for_tests = name.starts_with("PENSTOCK_TEST_");
  if (variable != known.end()) {
    judge_value(verdict, *variable);
  } else if (verdict.for_tests || name == "PENSTOCK_ROOT" || name == "PENSTOCK_DIR") {
    verdict.is = VariableVerdict::Is::elsewhere;
  } else {
    verdict.is = VariableVerdict::Is::unknown;
    verdict.nearest = nearest_setting(name, known);
  }
  return verdict;
}

}  // namespace

Settings Settings::from_environment() {
  Settings settings;
  for (const Variable& variable : variables())
    // An empty variable is as unset.
    if (const char* text = std::getenv(variable.name); text != nullptr && *text != '\0')
      variable.read(settings, text);
  return settings;
}

bool Settings::allows(std::string_view transport) const noexcept {
  return transports.empty() ||
         std::find(transports.begin(), transports.end(), transport) != transports.end();
}

std::vector<std::pair<std::string, std::string>> Settings::table() const {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Variable& variable : variables())
    lines.emplace_back(variable.name, variable.show(*this));
  return lines;
}

std::vector<VariableVerdict> judge_environment() {
  const std::vector<Variable> known = variables();
  std::vector<VariableVerdict> verdicts;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view line(*each);
    const std::size_t end = line.find('=');
    if (end != std::string_view::npos && line.starts_with("PENSTOCK_"))
      verdicts.push_back(judge(line.substr(0, end), line.substr(end + 1), known));
  }
  std::sort(verdicts.begin(), verdicts.end(),
            [](const auto& one, const auto& other) { return one.name < other.name; });
  return verdicts;
}

std::vector<std::pair<std::string, std::string>> unknown_settings() {
  std::vector<std::pair<std::string, std::string>> unknown;
  for (const VariableVerdict& each : judge_environment())
    if (each.is == VariableVerdict::Is::unknown) unknown.emplace_back(each.name, each.nearest);
  return unknown;
}

}  // namespace penstock::base
