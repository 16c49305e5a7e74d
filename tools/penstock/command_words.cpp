// SPDX-License-Identifier: Apache-2.0
#include "penstock/command_words.hpp"

#include <sstream>

namespace penstock::tool {
namespace {

void add_family(const CLI::App& app, std::vector<const CLI::App*>& family) {
  family.push_back(&app);
  for (const CLI::App* below : subcommands_of(app)) add_family(*below, family);
}

}  // namespace

std::string path_of(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  return parent == nullptr ? "penstock" : path_of(*parent) + " " + app.get_name();
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::App*> family_of(const CLI::App& app) {
  std::vector<const CLI::App*> family;
  add_family(app, family);
  return family;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_positional(); });
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<std::string> spellings_of(const CLI::Option& option) {
  std::vector<std::string> spellings;
  for (const std::string& name : option.get_snames()) spellings.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) spellings.push_back("--" + name);
  return spellings;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

// A check of CLI::IsMember describes itself as {one,other}.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> values;
  if (begin == std::string::npos || end == std::string::npos) return values;
  std::istringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string value; std::getline(list, value, ',');) values.push_back(value);
  return values;
}

bool takes_path(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.starts_with("FILE") || type.starts_with("DIR");
}

}  // namespace penstock::tool
