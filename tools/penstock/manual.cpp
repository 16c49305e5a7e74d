// SPDX-License-Identifier: Apache-2.0
// penstock manual: the pages penstock(1), penstock-bench(1) and so on, one for each subcommand,
// from what --help says.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "penstock/command_words.hpp"
#include "penstock/subcommands.hpp"

namespace penstock::tool {
namespace {

// What stands in the text is to be printed, not obeyed; a dash is one that can be copied.
std::string plain(const std::string& text) {
  std::string roff;
  bool at_start = true;
  for (const char letter : text) {
    if (at_start && (letter == '.' || letter == '\'')) roff += "\\&";
    if (letter == '\\')
      roff += "\\e";
    else if (letter == '-')
      roff += "\\-";
    else
      roff += letter;
    at_start = letter == '\n';
  }
  return roff;
}

std::string page_name(const CLI::App& app) {
  std::string name = path_of(app);
  for (char& letter : name)
    if (letter == ' ') letter = '-';
  return name;
}

// "INT:INT in [1 - 10000]" without what is said twice, "LEVEL:{single,...}" without its values.
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(':'), range = type.find(" in [");
  return type.substr(0, colon) + (range == std::string::npos ? "" : type.substr(range));
}

std::string option_text(const CLI::Option& option) {
  std::string names;
  for (const std::string& spelling : spellings_of(option))
    names += (names.empty() ? "" : ", ") + ("\\fB" + plain(spelling) + "\\fR");
  if (option.get_positional()) names = "\\fI" + plain(option.get_name()) + "\\fR";
  if (takes_value(option)) names += " \\fI" + plain(type_of(option)) + "\\fR";
  if (const std::string& value = option.get_default_str(); !value.empty())
    names += " (default: " + plain(value) + ")";
  std::string text = plain(option.get_description());
  if (const auto values = values_of(option); !values.empty() && takes_value(option))
    text += ".\nOne of: " + plain(fmt::format("{}", fmt::join(values, ", "))) + ".";
  return ".TP\n" + names + "\n" + text + "\n";
}

template <class List>
std::string section(const std::string& title, const List& options) {
  std::string text;
  for (const CLI::Option* option : options) text += option_text(*option);
  return text.empty() ? "" : ".SH " + title + "\n" + text;
}

std::string synopsis(const CLI::App& app) {
  std::string text = ".SH SYNOPSIS\n\\fB" + plain(path_of(app)) + "\\fR [\\fIoptions\\fR]";
  for (const CLI::Option* positional : positionals_of(app))
    text += " \\fI" + plain(positional->get_name()) + "\\fR";
  if (!subcommands_of(app).empty()) text += " \\fIsubcommand\\fR ...";
  return text + "\n";
}

std::string subcommand_section(const CLI::App& app) {
  std::string text;
  for (const CLI::App* below : subcommands_of(app))
    text += ".TP\n\\fB" + plain(below->get_name()) + "\\fR\n" + plain(below->get_description()) +
            ": see \\fB" + plain(page_name(*below)) + "\\fR(1)\n";
  return text.empty() ? "" : ".SH SUBCOMMANDS\n" + text;
}

std::string page(const CLI::App& app, const std::string& version) {
  const std::string name = page_name(app);
  std::string text = fmt::format(
      ".\\\" Written by `penstock manual`.\n.TH \"{}\" 1 \"\" \"{}\" \"Penstock\"\n.SH NAME\n{} "
      "\\- "
      "{}\n",
      name, version, plain(name), plain(app.get_description()));
  text += synopsis(app);
  text += subcommand_section(app);
  text += section("WORDS", positionals_of(app));
  text += section("OPTIONS", options_of(app));
  if (!app.get_footer().empty()) text += ".SH NOTES\n.nf\n" + plain(app.get_footer()) + "\n.fi\n";
  if (app.get_parent() == nullptr)
    text +=
        ".SH ENVIRONMENT\nVariables that begin with PENSTOCK_ set up the library. \\fBpenstock "
        "doctor\\fR tells which are set and whether they are valid; docs/settings.md lists them.\n";
  else
    text += ".SH SEE ALSO\n\\fB" + plain(page_name(*app.get_parent())) + "\\fR(1)\n";
  return text;
}

int write_pages(const CLI::App& root, const std::string& folder) {
  namespace fs = std::filesystem;
  fs::create_directories(folder);
  for (const CLI::App* app : family_of(root)) {
    const fs::path path = fs::path(folder) / (page_name(*app) + ".1");
    std::ofstream file(path);
    file << page(*app, root.version());
    file.close();
    if (!file) throw UserError("cannot write " + path.string());
  }
  return 0;
}

}  // namespace

void add_manual(CLI::App& parent, Command& command) {
  CLI::App* const app =
      parent.add_subcommand("manual", "Write manual pages (man) of all subcommands into a folder");
  const auto folder = std::make_shared<std::string>();
  app->add_option("folder", *folder, "Where to; it is made if it is not there")
      ->required()
      ->type_name("DIR");
  app->callback([folder, &parent, &command] {
    command.run_alone = [folder, &parent] { return write_pages(parent, *folder); };
  });
}

}  // namespace penstock::tool
