// SPDX-License-Identifier: Apache-2.0
// penstock completion: scripts by which a shell completes this command's words. They hold a table
// of the command line as it is described to CLI11, and a few lines that look into it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

#include "penstock/command_words.hpp"
#include "penstock/subcommands.hpp"

namespace penstock::tool {
namespace {

// For the shell: in single quotes, of which it has none inside.
std::string in_quotes(const std::string& text) {
  std::string inside;
  for (const char letter : text)
    inside += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return "'" + inside + "'";
}

// Cases of a shell's `case`, which say for the words before the cursor what may stand there.
std::string known_paths(const CLI::App& root) {
  std::vector<std::string> paths;
  for (const CLI::App* app : family_of(root))
    if (app != &root) paths.push_back(in_quotes(path_of(*app)));
  return fmt::format("{}", fmt::join(paths, "|"));
}

std::string words_of(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* below : subcommands_of(app)) words.push_back(below->get_name());
  for (const CLI::Option* option : options_of(app))
    for (const std::string& spelling : spellings_of(*option)) words.push_back(spelling);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string value_cases(const CLI::App& root) {
  std::string text;
  for (const CLI::App* app : family_of(root))
    for (const CLI::Option* option : options_of(*app)) {
      if (!takes_value(*option)) continue;
      std::vector<std::string> patterns;
      for (const std::string& spelling : spellings_of(*option))
        patterns.push_back(in_quotes(path_of(*app) + " " + spelling));
      text += fmt::format("    {}) kind={} known={} ;;\n", fmt::join(patterns, "|"),
                          takes_path(*option) ? "path" : "value",
                          in_quotes(fmt::format("{}", fmt::join(values_of(*option), " "))));
    }
  return text;
}

std::string word_cases(const CLI::App& root) {
  std::string text;
  for (const CLI::App* app : family_of(root)) {
    std::string words = words_of(*app), kind = "word";
    for (const CLI::Option* positional : positionals_of(*app)) {
      if (takes_path(*positional)) kind = "word_or_path";
      for (const std::string& value : values_of(*positional)) words += " " + value;
    }
    if (words.empty()) kind = "path";  // its words are those of another program
    text += fmt::format("    {}) kind={} known={} ;;\n", in_quotes(path_of(*app)), kind,
                        in_quotes(words));
  }
  return text;
}

// zsh runs the same with the names that bash has for the words of a line.
constexpr const char* script =
    R"(# Written by `penstock completion`: completes the words of penstock in bash and zsh.
_penstock_find() {{
  local line=penstock word
  for word in "${{before[@]}}"; do
    case "$line $word" in
    {paths}) line="$line $word" ;;
    esac
  done
  kind= known=
  case "$line $last" in
{values}  esac
  if [[ -n $kind ]]; then return; fi
  case "$line" in
{words}  esac
}}
)";

constexpr const char* bash_end = R"(
_penstock() {
  local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} kind known before_comma=
  local before=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
  # bash takes --option=value apart.
  if [[ $word == = ]]; then
    word=
  elif [[ $last == = ]]; then
    last=${COMP_WORDS[COMP_CWORD-2]}
  fi
  _penstock_find
  COMPREPLY=()
  if [[ $kind == value && $word == *,* ]]; then
    before_comma=${word%,*},
    word=${word##*,}
  fi
  if [[ $kind == word_or_path && $word != -* ]]; then kind=path; fi
  if [[ $kind != path ]]; then COMPREPLY=($(compgen -P "$before_comma" -W "$known" -- "$word")); fi
  if [[ $kind == path ]]; then
    compopt -o default 2>/dev/null
    COMPREPLY=()
  fi
}
complete -F _penstock penstock
)";

constexpr const char* zsh_end = R"(
_penstock() {
  local last=${words[CURRENT-1]} kind known
  local -a before=("${(@)words[2,CURRENT-1]}")
  if [[ $PREFIX == --*=* ]]; then
    last=${PREFIX%%=*}
    compset -P '*='
  fi
  _penstock_find
  if [[ $kind == value ]]; then compset -P '*,'; fi
  if [[ $kind != path ]]; then compadd -- ${(s: :)known}; fi
  if [[ $kind == path || $kind == word_or_path ]]; then _files; fi
}
compdef _penstock penstock
)";

int print_completion(const CLI::App& root, const std::string& shell) {
  if (shell == "zsh") fmt::print("#compdef penstock\n");
  fmt::print(script, fmt::arg("paths", known_paths(root)), fmt::arg("values", value_cases(root)),
             fmt::arg("words", word_cases(root)));
  std::fputs(shell == "zsh" ? zsh_end : bash_end, stdout);
  return 0;
}

}  // namespace

void add_completion(CLI::App& parent, Command& command) {
  CLI::App* const app = parent.add_subcommand(
      "completion", "Print a script by which bash or zsh completes this command");
  app->footer("bash: source <(penstock completion bash)\nzsh: source <(penstock completion zsh)");
  const auto shell = std::make_shared<std::string>();
  app->add_option("shell", *shell, "bash or zsh")
      ->required()
      ->type_name("SHELL")
      ->check(CLI::IsMember({"bash", "zsh"}));
  app->callback([shell, &parent, &command] {
    command.run_alone = [shell, &parent] { return print_completion(parent, *shell); };
  });
}

}  // namespace penstock::tool
