// SPDX-License-Identifier: Apache-2.0
#include "coll/wish.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>

#include "base/error.hpp"

namespace penstock::coll {

using base::Error;
using base::ErrorKind;

namespace {

// 0: it is none.
int width_of(std::string_view text) {
  int width = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, width);
  return failure == std::errc{} && stop == end ? std::max(width, 0) : 0;
}

[[noreturn]] void refuse(std::string_view setting, const std::string& why) {
  throw Error(ErrorKind::setting, fmt::format("PENSTOCK_COLL='{}' is not valid: {}", setting, why));
}

void require_valid(CollectiveKind collective, std::string_view wish, std::string_view setting) {
  try {
    read_wish(collective, wish);
  } catch (const Error& error) {
    refuse(setting, fmt::format("{}; there is {}", error.text(), names_of(collective)));
  }
}

CollectiveKind require_collective(std::string_view name, std::string_view setting) {
  if (const auto kind = collective_named(name)) return *kind;
  refuse(setting, fmt::format("there is no collective '{}': give pairs as in "
                              "allreduce:doubling,alltoall:pairwise of {}",
                              name, fmt::join(collective_names, ", ")));
}

}  // namespace

Wish read_wish(CollectiveKind collective, std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  Wish wish{std::string(text.substr(0, colon)), 0};
  const Algorithm* const algorithm = find_algorithm(collective, wish.name);
  if (algorithm == nullptr && !is_direct(collective, wish.name))
    throw Error(ErrorKind::unsupported,
                fmt::format("{} has no algorithm '{}'", name_of(collective), wish.name));
  if (colon == text.size()) return wish;
  if (algorithm == nullptr || algorithm->width == nullptr)
    throw Error(ErrorKind::unsupported, fmt::format("'{}': {} has no width", text, wish.name));
  wish.width = width_of(text.substr(colon + 1));
  if (wish.width == 0)
    throw Error(ErrorKind::unsupported,
                fmt::format("'{}': the width is no whole number of ranks from 1 on", text));
  return wish;
}

std::string full_name(const Algorithm& algorithm, const Shape& shape) {
  if (algorithm.width == nullptr) return std::string(algorithm.name);
  return fmt::format("{}:{}", algorithm.name, shape.*algorithm.width);
}

std::optional<CollectiveKind> collective_named(std::string_view name) {
  const auto found = std::find(std::begin(collective_names), std::end(collective_names), name);
  if (found == std::end(collective_names)) return std::nullopt;
  return static_cast<CollectiveKind>(found - std::begin(collective_names));
}

std::string names_of(CollectiveKind collective) {
  std::string names;
  for (const Algorithm& each : algorithms(collective))
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  for (const std::string_view direct : direct_names(collective))
    names += ", " + std::string(direct);
  return names;
}

std::string_view forced_algorithm(std::string_view setting, CollectiveKind collective) {
  std::map<CollectiveKind, std::string_view> wishes;
  for (std::size_t begin = 0, end = 0; !setting.empty() && end < setting.size(); begin = end + 1) {
    end = std::min(setting.find(',', begin), setting.size());
    const std::string_view pair = setting.substr(begin, end - begin);
    const auto colon = std::min(pair.find(':'), pair.size());
    const CollectiveKind kind = require_collective(pair.substr(0, colon), setting);
    const std::string_view wish = pair.substr(std::min(colon + 1, pair.size()));
    require_valid(kind, wish, setting);
    if (!wishes.emplace(kind, wish).second)
      refuse(setting, fmt::format("it has two algorithms for {}", name_of(kind)));
  }
  const auto found = wishes.find(collective);
  return found == wishes.end() ? std::string_view() : found->second;
}

}  // namespace penstock::coll
