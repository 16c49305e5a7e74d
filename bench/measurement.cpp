// SPDX-License-Identifier: Apache-2.0
#include "measurement.hpp"

#include <fmt/core.h>

#include <stdexcept>

namespace penstock::bench {

void require_two_ranks(const tool::Session& session) {
  if (session.size() == 2) return;
  throw tool::UserError(
      fmt::format("bench needs exactly 2 ranks and has {}: run it as mpiexec -n 2 penstock bench ...", session.size()));
}

void require_transport(const Options& options, const std::string& transport) {
  if (options.transport.empty() || options.transport.find(transport) != std::string::npos) return;
  throw tool::UserError(
      fmt::format("--transport {} was asked for, but {} serves the pair", options.transport, transport));
}

void require_right(const CheckResult& result, const char* what, std::size_t bytes) {
  if (result.wrong_bytes != 0) {
    throw std::runtime_error(fmt::format("check failed: {}, messages of {} bytes: {} wrong bytes, first in message {}",
                                         what, bytes, result.wrong_bytes, result.first_wrong_iteration));
  }
  if (result.messages == 0) throw std::runtime_error(fmt::format("check failed: {}: no message was checked", what));
}

}  // namespace penstock::bench
