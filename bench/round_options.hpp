// SPDX-License-Identifier: Apache-2.0
// What commands that measure have in common on their command lines.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "bench_options.hpp"

namespace penstock::bench {

// One word of a list, kept as the value that the list gives it.
template <class Value>
void add_choice(CLI::App& app, const std::string& name, Value& value,
                const std::map<std::string, Value>& choices, const std::string& text) {
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  app.add_option_function<std::string>(
         name, [&value, &choices](const std::string& word) { value = choices.at(word); }, text)
      ->type_name("WORD")
      ->check(CLI::IsMember(words));
}

// A whole number of bytes, up to 1 GiB.
CLI::Validator size_of_message(std::size_t least = 0);

// How many rounds, on which device, in which memory.
void add_round_options(CLI::App& app, Options& options);

}  // namespace penstock::bench
