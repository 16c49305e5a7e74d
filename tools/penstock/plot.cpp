// SPDX-License-Identifier: Apache-2.0
// penstock plot: hands its words to the Python package, which is found beside the command or in the
// sources.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "penstock/subcommands.hpp"

namespace penstock::tool {
namespace {

namespace fs = std::filesystem;

// Beside an installed command, or where this one was built.
fs::path package_folder() {
  std::error_code failure;
  const fs::path command = fs::read_symlink("/proc/self/exe", failure);
  const fs::path installed = command.parent_path().parent_path() / "share/penstock/plot";
  return fs::exists(installed / "pyproject.toml", failure) ? installed
                                                           : fs::path(PENSTOCK_PLOT_FOLDER);
}

// The package's own folder need not be installed: what it depends on must be.
void let_python_find(const fs::path& folder) {
  const char* const before = std::getenv("PYTHONPATH");
  setenv("PYTHONPATH",
         (folder.string() + (before != nullptr ? std::string(":") + before : "")).c_str(), 1);
}

[[noreturn]] void become(const std::string& python, const std::vector<std::string>& words) {
  std::vector<char*> arguments{const_cast<char*>(python.c_str())};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(python.c_str(), arguments.data());
  _exit(127);
}

bool succeeds(const std::string& python, const std::vector<std::string>& words) {
  const pid_t child = fork();
  if (child == 0) become(python, words);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The first that has all that the package needs; empty if none has. Tables need it alone.
std::string find_python(bool for_tables) {
  const std::string has_all =
      "import sys\n"
      "from importlib.util import find_spec\n"
      "sys.exit(not all(map(find_spec, ['penstock_plot'" +
      std::string(for_tables ? "" : ", 'matplotlib', 'numpy'") + "])))";
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (succeeds(python, {"-c", has_all})) return python;
  return {};
}

int run_plot(const std::vector<std::string>& words) {
  const fs::path folder = package_folder();
  let_python_find(folder);
  const std::string python = find_python(!words.empty() && words.front() == "--table");
  if (python.empty())
    throw UserError(
        "plot is the Python package penstock-plot, which is not "
        "installed, or lacks matplotlib. This installs both:\n"
        "  python3 -m pip install " +
        folder.string());
  std::vector<std::string> all{"-m", "penstock_plot"};
  all.insert(all.end(), words.begin(), words.end());
  become(python, all);
}

// Words of the package's own. What they take is its matter: they are there for manual pages and
// completion alone, and are passed on unread.
void describe_pictures(CLI::App& plot) {
  for (const auto& [name, text] :
       {std::pair("curves", "Curves over the size of a message, from lines of `penstock bench`"),
        std::pair("scaling",
                  "Speed-up over the number of ranks, from tables of `life`, `faces`, "
                  "`jacobi` or `comb`, or lines of `model`"),
        std::pair("timeline", "One exchange on the time axis, from files of PENSTOCK_TRACE"),
        std::pair("life", "Bars of the variants, from tables of `life`")}) {
    CLI::App* const picture = plot.add_subcommand(name, text);
    picture->set_help_flag();
    picture->disabled();
    picture->footer(
        fmt::format("penstock plot {0} FILE... draws {0}.png.\n"
                    "penstock plot {0} --help lists its options.",
                    name));
  }
}

}  // namespace

void add_plot(CLI::App& parent, Command& command) {
  CLI::App* app =
      parent.add_subcommand("plot", "Draw what `bench`, `life` and traces wrote, or print tables");
  app->set_help_flag();  // the package has its own
  app->prefix_command();
  describe_pictures(*app);
  const auto tables = std::make_shared<std::vector<std::string>>();
  app->add_option("--table", *tables,
                  "Print Markdown tables of lines of `bench --json`, of `penstock_floor`, `faces` "
                  "or `comb`")
      ->type_name("FILE");
  app->callback([app, tables, &command] {
    std::vector<std::string> words = app->remaining();
    if (!tables->empty()) {
      words.insert(words.begin(), tables->begin(), tables->end());
      words.insert(words.begin(), "--table");
    }
    command.run_alone = [words] { return run_plot(words); };
  });
}

}  // namespace penstock::tool
