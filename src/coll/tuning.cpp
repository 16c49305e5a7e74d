// SPDX-License-Identifier: Apache-2.0
#include "coll/tuning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "coll/wish.hpp"
#include "core/library.hpp"

namespace penstock::coll {

using base::Error;
using base::ErrorKind;
using nlohmann::json;

namespace {

// `measured` is for readers.
constexpr const char* entry_keys[] = {"collective",   "memory",      "ranks",     "nodes",
                                      "ranks_a_node", "up_to_bytes", "algorithm", "measured"};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::setting, why);
}

const json& require(const json& entry, const char* key) {
  if (!entry.contains(key)) refuse(fmt::format("it has no '{}'", key));
  return entry[key];
}

std::string text_of(const json& entry, const char* key) {
  const json& value = require(entry, key);
  if (!value.is_string()) refuse(fmt::format("'{}' is no text", key));
  return value.get<std::string>();
}

template <class Number>
Number number_of(const json& entry, const char* key, Number least) {
  constexpr auto most = std::min<std::uint64_t>(std::numeric_limits<Number>::max(),
                                                std::numeric_limits<std::int64_t>::max());
  const json& value = require(entry, key);
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() < static_cast<std::uint64_t>(least) ||
      value.get<std::uint64_t>() > most)
    refuse(fmt::format("'{}' is no whole number from {} to {}", key, least, most));
  return value.get<Number>();
}

CollectiveKind collective_of(const json& entry) {
  const std::string name = text_of(entry, "collective");
  if (const auto kind = collective_named(name)) return *kind;
  refuse(fmt::format("there is no collective '{}': it is one of {}", name,
                     fmt::join(collective_names, ", ")));
}

bool is_on_gpu(const json& entry) {
  const std::string memory = text_of(entry, "memory");
  if (memory != "host" && memory != "gpu")
    refuse(fmt::format("there is no memory '{}': it is host or gpu", memory));
  return memory == "gpu";
}

void require_known_keys(const json& entry) {
  if (!entry.is_object()) refuse("it is no object");
  for (const auto& [key, value] : entry.items())
    if (std::find(std::begin(entry_keys), std::end(entry_keys), key) == std::end(entry_keys))
      refuse(
          fmt::format("there is no '{}' in an entry: it has {}", key, fmt::join(entry_keys, ", ")));
}

TuningKey key_of(const json& entry) {
  return {.collective = collective_of(entry),
          .on_gpu = is_on_gpu(entry),
          .ranks = number_of<int>(entry, "ranks", 1),
          .nodes = number_of<int>(entry, "nodes", 1),
          .node_ranks = number_of<int>(entry, "ranks_a_node", 0),
          .bytes = number_of<std::size_t>(entry, "up_to_bytes", 0)};
}

std::string wish_of(const json& entry, CollectiveKind collective) {
  const std::string wish = text_of(entry, "algorithm");
  try {
    read_wish(collective, wish);
  } catch (const Error& error) {
    refuse(fmt::format("{}; there is {}", error.text(), names_of(collective)));
  }
  return wish;
}

// JSON lets a key stand twice, and readers take the one or the other.
class KeysOnce {
 public:
  bool operator()(int /*depth*/, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end) open_.pop_back();
    if (event == json::parse_event_t::key && !open_.back().insert(parsed).second)
      refuse(fmt::format("an object has the key {} twice", parsed.dump()));
    return true;
  }

 private:
  std::vector<std::set<std::string>> open_;  // the keys of the objects around
};

json parse(std::string_view text) {
  try {
    return json::parse(text, KeysOnce());
  } catch (const json::parse_error& error) {
    refuse(fmt::format("it is no JSON at byte {}", error.byte));
  } catch (const json::exception& error) {  // a number beyond all, say
    refuse(fmt::format("it is no JSON: {}", error.what()));
  }
}

// To open a FIFO would wait for somebody who writes it, and a device may have no end. What is
// missing is told of by who opens it.
void require_ordinary(const std::string& path) {
  constexpr std::uintmax_t most_mebibytes = 64;
  namespace files = std::filesystem;
  std::error_code failure;
  const files::file_status status = files::status(path, failure);
  if (!files::exists(status)) return;
  if (!files::is_regular_file(status)) refuse("it is no ordinary file");
  if (const auto bytes = files::file_size(path, failure); !failure && bytes >> 20 >= most_mebibytes)
    refuse(fmt::format("it has {} bytes, and may have less than {} MiB", bytes, most_mebibytes));
}

std::string text_of_file(const std::string& path) {
  require_ordinary(path);
  errno = 0;
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.bad()) refuse(fmt::format("it cannot be read: {}", std::strerror(errno)));
  return text.str();
}

}  // namespace

TuningKey tuning_key(CollectiveKind collective, bool on_gpu, const Shape& shape) {
  return {collective,        on_gpu,
          shape.ranks,       node_count(shape),
          node_ranks(shape), tuning_bytes(shape.bytes(), shape.sends)};
}

std::size_t tuning_bytes(std::size_t each, const std::vector<Block>& sends) {
  std::size_t bytes = 0;
  for (const Block& block : sends) bytes += block.bytes;
  return sends.empty() ? each : bytes / sends.size();
}

Tuning::Tuning(std::string_view text) {
  const json file = parse(text);
  if (!file.is_object() || !file.contains("entries") || !file["entries"].is_array())
    refuse("it has no list of 'entries'");
  std::size_t number = 0;
  for (const json& entry : file["entries"]) {
    ++number;
    try {
      require_known_keys(entry);
      const TuningKey key = key_of(entry);
      if (!wishes_.emplace(key, wish_of(entry, key.collective)).second)
        refuse("an entry before it is for the same");
    } catch (const Error& error) {
      refuse(fmt::format("entry {}: {}", number, error.text()));
    }
  }
}

std::string_view Tuning::wish(const TuningKey& key) const {
  const auto found = wishes_.lower_bound(key);
  if (found == wishes_.end()) return "";
  TuningKey of_as_many = found->first;
  of_as_many.bytes = key.bytes;
  return of_as_many == key ? found->second : std::string_view();
}

std::string_view Tuning::direct_wish(CollectiveKind collective, bool on_gpu, int ranks,
                                     std::size_t bytes) const {
  std::string_view any;
  const TuningKey* before = nullptr;  // the entry that fits on the nodes before
  for (const auto& [key, wish] : wishes_) {
    if (key.collective != collective || key.on_gpu != on_gpu || key.ranks != ranks) continue;
    const bool goes_directly = is_direct(collective, wish);
    if (goes_directly && any.empty()) any = wish;
    if (key.bytes < bytes) continue;
    const bool fits =
        before == nullptr || key.nodes != before->nodes || key.node_ranks != before->node_ranks;
    before = &key;
    if (fits && goes_directly) return wish;
  }
  return any;
}

std::vector<std::string> Tuning::collectives() const {
  std::vector<std::string> names;  // entries stand by their collectives
  for (const auto& [key, wish] : wishes_)
    if (const std::string_view name = name_of(key.collective);
        names.empty() || names.back() != name)
      names.emplace_back(name);
  return names;
}

Tuning read_tuning(const std::string& path) {
  if (path.empty()) return {};
  try {
    return Tuning(text_of_file(path));
  } catch (const Error& error) {
    throw Error(ErrorKind::setting,
                fmt::format("PENSTOCK_TUNE='{}' is not valid: {}; penstock tune collectives writes "
                            "such a file",
                            path, error.text()));
  }
}

const Tuning& tuning_of_library() {
  static const Tuning tuning = read_tuning(core::Library::require().settings().tuning_file);
  return tuning;
}

}  // namespace penstock::coll
