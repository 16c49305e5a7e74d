// SPDX-License-Identifier: Apache-2.0
// What the library makes of the environment that this process was started in.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "api/errors.hpp"
#include "api/mpi_of_build.hpp"
#include "api/recorder.hpp"
#include "base/settings.hpp"
#include "coll/tuning.hpp"
#include "core/library.hpp"
#include "group/world.hpp"
#include "penstock/penstock.h"

namespace penstock::api {
namespace {

using base::VariableVerdict;
using nlohmann::ordered_json;

// The file that a function was loaded from.
template <class Function>
std::string file_of(Function* function) {
  Dl_info found{};
  if (dladdr(reinterpret_cast<void*>(function), &found) == 0 || found.dli_fname == nullptr)
    return "";
  return found.dli_fname;
}

const char* word_of(VariableVerdict::Is is) noexcept {
  switch (is) {
    case VariableVerdict::Is::valid:
      return "valid";
    case VariableVerdict::Is::invalid:
      return "invalid";
    case VariableVerdict::Is::unknown:
      return "unknown";
    default:
      return "elsewhere";
  }
}

ordered_json describe_variables() {
  ordered_json json = ordered_json::array();
  for (const VariableVerdict& each : base::judge_environment())
    json.push_back({{"name", each.name},
                    {"value", each.value},
                    {"is", word_of(each.is)},
                    {"why", each.why},
                    {"nearest", each.nearest},
                    {"for_tests", each.for_tests}});
  return json;
}

// Other settings may be invalid: the file is judged by itself.
ordered_json describe_tuning() {
  std::string file;
  for (const VariableVerdict& each : base::judge_environment())
    if (each.name == "PENSTOCK_TUNE") file = each.value;
  ordered_json json{{"file", file}, {"why", ""}, {"collectives", ordered_json::array()}};
  try {
    for (const std::string& name : coll::read_tuning(file).collectives())
      json["collectives"].push_back(name);
  } catch (const base::Error& error) {
    json["why"] = error.text();
  }
  return json;
}

std::string why_not_ready() {
  try {
    core::Library::require();
    return "";
  } catch (const base::Error& error) {
    return std::string(error.text());
  }
}

std::string describe_environment() {
  const std::string why = why_not_ready();
  const ordered_json json{{"library", file_of(&PST_Describe_environment)},
                          {"mpi_of_build", mpi_of_build()},
                          {"mpi_family_of_build", mpi_family_of_build()},
                          {"mpi", group::loaded_mpi()},
                          {"mpi_library", file_of(&PMPI_Get_library_version)},
                          {"mpi_fits", loaded_mpi_is_of_family()},
                          {"ready", why.empty()},
                          {"why_not_ready", why},
                          {"why_not_recording", why_not_recording()},
                          {"variables", describe_variables()},
                          {"tuning", describe_tuning()}};
  // A variable may be any bytes.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace
}  // namespace penstock::api

using namespace penstock;

int PST_Describe_environment(char* json, int size, int* length) {
  return api::guard_any_thread(
      [&] { api::give_text(api::describe_environment(), json, size, length); });
}
