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

constexpr std::uint64_t eager_limit = std::uint64_t{1} << 30;
// A line's flag must tell the epochs apart that share a slot: 2^w > SLOTS.
constexpr std::uint64_t slots_limit =
    std::min<std::uint64_t>(65535, (std::uint64_t{1} << PENSTOCK_FLAG_BITS) - 1);
constexpr std::uint64_t blocks_limit = 1024;
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

// An empty variable is as unset.
std::optional<std::string_view> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::uint64_t> whole_number(const char* name, std::uint64_t least, std::uint64_t most,
                                          std::string_view unit) {
  const auto text = variable(name);
  if (!text) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, failure] = std::from_chars(text->data(), end, number);
  if (failure != std::errc{} || stop != end || number < least || number > most) {
    refuse(name, *text, fmt::format("give a whole number{} from {} to {}", unit, least, most));
  }
  return number;
}

void read_switch(const char* name, bool& setting) {
  const auto text = variable(name);
  if (!text) return;
  if (*text != "0" && *text != "1") refuse(name, *text, "give 0 or 1");
  setting = *text == "1";
}

// The variable restricts the choice; the order stays that of quality.
std::vector<std::string> read_transports() {
  constexpr const char* name = "PENSTOCK_TRANSPORT";
  const auto text = variable(name);
  if (!text) return {};
  std::array<bool, transport_names.size()> allowed{};
  for (std::string_view rest = *text;;) {
    const auto comma = rest.find(',');
    const auto found =
        std::find(transport_names.begin(), transport_names.end(), rest.substr(0, comma));
    if (found == transport_names.end()) {
      refuse(name, *text,
             fmt::format("give one or several of {}, with commas", joined(transport_names, ", ")));
    }
    allowed[static_cast<std::size_t>(found - transport_names.begin())] = true;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::vector<std::string> transports;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (allowed[i]) transports.emplace_back(transport_names[i]);
  }
  return transports;
}

std::chrono::milliseconds read_timeout() {
  constexpr const char* name = "PENSTOCK_TIMEOUT";
  const auto text = variable(name);
  if (!text) return std::chrono::milliseconds{0};
  double seconds = 0;
  const char* end = text->data() + text->size();
  const auto [stop, failure] =
      std::from_chars(text->data(), end, seconds, std::chars_format::fixed);
  // The comparison is written so that a NaN fails it.
  if (failure != std::errc{} || stop != end || !(seconds >= 0 && seconds <= timeout_limit)) {
    refuse(name, *text,
           fmt::format("give seconds from 0 (never) to {:.0f}, with a fraction if need be",
                       timeout_limit));
  }
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(seconds * 1000))};
}

// One of several, by name: the names stand in the order of the values.
template <class Choice, class Names>
void read_choice(const char* name, const Names& names, Choice& setting) {
  const auto text = variable(name);
  if (!text) return;
  const auto found = std::find(names.begin(), names.end(), *text);
  if (found == names.end()) refuse(name, *text, fmt::format("give one of {}", joined(names, ", ")));
  setting = static_cast<Choice>(found - names.begin());
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

}  // namespace

Settings Settings::from_environment() {
  Settings settings;
  settings.transports = read_transports();
  if (const auto bytes = whole_number("PENSTOCK_EAGER_MAX", 0, eager_limit, " of bytes"))
    settings.eager_max = *bytes;
  if (const auto bytes = whole_number("PENSTOCK_CUDA_EAGER_MAX", 0, eager_limit, " of bytes"))
    settings.cuda_eager_max = *bytes;
  if (const auto bytes = whole_number("PENSTOCK_CUDA_WIDE_LINES", 0, eager_limit, " of bytes"))
    settings.cuda_wide_lines = *bytes;
  if (const auto blocks = whole_number("PENSTOCK_CUDA_BLOCKS", 2, blocks_limit, ""))
    settings.cuda_blocks = static_cast<unsigned>(*blocks);
  read_switch("PENSTOCK_CUDA_DEPENDENT_LAUNCH", settings.cuda_dependent_launch);
  read_switch("PENSTOCK_CUDA_ATOMICS", settings.cuda_atomics);
  if (const auto waits = whole_number("PENSTOCK_CUDA_WAITS", 0, waits_limit, ""))
    settings.cuda_waits = static_cast<unsigned>(*waits);
  read_choice("PENSTOCK_CUDA_WAIT", wait_names, settings.cuda_wait);
  read_switch("PENSTOCK_CMA", settings.cross_memory);
  if (const auto bytes = whole_number("PENSTOCK_OFI_EAGER_MAX", 0, eager_limit, " of bytes"))
    settings.ofi_eager_max = *bytes;
  if (const auto entries = whole_number("PENSTOCK_OFI_ENTRIES", 0, entries_limit, ""))
    settings.ofi_entries = static_cast<unsigned>(*entries);
  read_choice("PENSTOCK_OFI_THROTTLE", throttle_names, settings.ofi_throttle);
  settings.ofi_counter_limit =
      whole_number("PENSTOCK_OFI_COUNTER_LIMIT", counter_limits[0], counter_limits[1], "");
  read_choice("PENSTOCK_OFI_HMEM", gpu_memory_names, settings.ofi_gpu_memory);
  if (const auto provider = variable("PENSTOCK_OFI_PROVIDER")) settings.ofi_provider = *provider;
  if (const auto interface = variable("PENSTOCK_OFI_INTERFACE"))
    settings.ofi_interface = *interface;
  if (const auto slots = whole_number("PENSTOCK_SLOTS", 2, slots_limit, "")) {
    settings.slots = static_cast<unsigned>(*slots);
  }
  if (const auto spin = whole_number("PENSTOCK_SPIN_US", 0, spin_limit, " of microseconds")) {
    settings.spin = std::chrono::microseconds{static_cast<std::int64_t>(*spin)};
  }
  settings.timeout = read_timeout();
  read_switch("PENSTOCK_CHECK", settings.check);
  read_switch("PENSTOCK_THREAD_MULTIPLE", settings.thread_multiple);
  read_switch("PENSTOCK_GPU_AWARE_MPI", settings.gpu_aware_mpi);
  read_choice("PENSTOCK_LOG", level_names, settings.log_level);
  if (const auto file = variable("PENSTOCK_LOG_FILE")) settings.log_file = *file;
  if (const auto file = variable("PENSTOCK_TRACE")) settings.trace_file = *file;
  return settings;
}

bool Settings::allows(std::string_view transport) const noexcept {
  return transports.empty() ||
         std::find(transports.begin(), transports.end(), transport) != transports.end();
}

std::vector<std::pair<std::string, std::string>> Settings::table() const {
  const auto on = [](bool setting) { return std::string(setting ? "1" : "0"); };
  const double seconds = static_cast<double>(timeout.count()) / 1000;
  return {
      {"PENSTOCK_TRANSPORT", transports.empty() ? "all" : joined(transports, ",")},
      {"PENSTOCK_EAGER_MAX", fmt::format("{}", eager_max)},
      {"PENSTOCK_CUDA_EAGER_MAX", fmt::format("{}", cuda_eager_max)},
      {"PENSTOCK_CUDA_WIDE_LINES", fmt::format("{}", cuda_wide_lines)},
      {"PENSTOCK_CUDA_BLOCKS", fmt::format("{}", cuda_blocks)},
      {"PENSTOCK_CUDA_WAITS", fmt::format("{}", cuda_waits)},
      {"PENSTOCK_CUDA_DEPENDENT_LAUNCH", on(cuda_dependent_launch)},
      {"PENSTOCK_CUDA_ATOMICS", on(cuda_atomics)},
      {"PENSTOCK_CUDA_WAIT", std::string(wait_names[static_cast<std::size_t>(cuda_wait)])},
      {"PENSTOCK_CMA", on(cross_memory)},
      {"PENSTOCK_OFI_EAGER_MAX", fmt::format("{}", ofi_eager_max)},
      {"PENSTOCK_OFI_ENTRIES", ofi_entries ? fmt::format("{}", *ofi_entries) : "automatic"},
      {"PENSTOCK_OFI_THROTTLE",
       std::string(throttle_names[static_cast<std::size_t>(ofi_throttle)])},
      {"PENSTOCK_OFI_COUNTER_LIMIT",
       ofi_counter_limit ? fmt::format("{}", *ofi_counter_limit) : "automatic"},
      {"PENSTOCK_OFI_HMEM",
       std::string(gpu_memory_names[static_cast<std::size_t>(ofi_gpu_memory)])},
      {"PENSTOCK_OFI_PROVIDER", ofi_provider.empty() ? "any" : ofi_provider},
      {"PENSTOCK_OFI_INTERFACE", ofi_interface.empty() ? "any" : ofi_interface},
      {"PENSTOCK_SLOTS", fmt::format("{}", slots)},
      {"PENSTOCK_SPIN_US", spin ? fmt::format("{}", spin->count()) : "automatic"},
      {"PENSTOCK_TIMEOUT", timeout.count() == 0 ? "never" : fmt::format("{}", seconds)},
      {"PENSTOCK_CHECK", on(check)},
      {"PENSTOCK_THREAD_MULTIPLE", on(thread_multiple)},
      {"PENSTOCK_GPU_AWARE_MPI", on(gpu_aware_mpi)},
      {"PENSTOCK_LOG", std::string(level_names[static_cast<std::size_t>(log_level)])},
      {"PENSTOCK_LOG_FILE", log_file.empty() ? "standard error" : log_file},
      {"PENSTOCK_TRACE", trace_file.empty() ? "none" : trace_file},
  };
}

std::vector<std::pair<std::string, std::string>> unknown_settings() {
  const auto known = Settings{}.table();
  std::vector<std::pair<std::string, std::string>> unknown;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view line(*each);
    const std::string_view name = line.substr(0, line.find('='));
    if (!name.starts_with("PENSTOCK_") || name.starts_with("PENSTOCK_TEST_")) continue;
    if (name == "PENSTOCK_ROOT" || name == "PENSTOCK_DIR") continue;
    const auto nearest =
        std::min_element(known.begin(), known.end(), [name](const auto& a, const auto& b) {
          return distance(name, a.first) < distance(name, b.first);
        });
    if (name != nearest->first) unknown.emplace_back(name, nearest->first);
  }
  return unknown;
}

}  // namespace penstock::base
