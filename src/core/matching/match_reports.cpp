// SPDX-License-Identifier: Apache-2.0
// What there is to be told of matches that last.
#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "core/matched_request.hpp"
#include "core/matching/few_lines.hpp"
#include "core/matching/matcher.hpp"

namespace penstock::core {

void Matcher::report_matches() const noexcept {
  base::log::failures_in(
      [&] { base::log::error("what the matches wait for:" + describe_matches()); });
}

// What holds up a match may be a wait that only the caller can release.
std::string Matcher::describe() {
  constexpr int most_tries = 100;
  std::unique_lock lock(mutex_, std::defer_lock);
  for (int tries = 0; !lock.try_lock(); ++tries) {
    if (tries == most_tries) return "\n  a match is held up";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return describe_matches();
}

std::string Matcher::describe_matches() const {
  constexpr int most_lines = 32;
  std::string text;
  int lines = 0;
  const auto add = [&](auto&& make_line) {
    if (++lines <= most_lines) text += "\n  match: " + make_line();
  };
  const auto now = std::chrono::steady_clock::now();
  for (const auto& job : jobs_.open_jobs())
    for (const MatchedRequest* request : job->open)
      add([&] {
        return fmt::format(
            "{} waits for {}, for {:.1f} s", request->label(),
            request->recording().collective ? group_.missing(*request) : "its other half",
            std::chrono::duration<double>(now - job->since).count());
      });
  receiver_.for_each_unexpected([&](const Envelope& envelope, std::size_t bytes) {
    add([&] {
      return fmt::format(
          "rank {} has handed a send of {} bytes (tag {}) to match, which "
          "waits here for a receive of its communicator, source and tag",
          envelope.source, bytes, envelope.tag);
    });
  });
  if (lines > most_lines) text += fmt::format("\n  match: {} more", lines - most_lines);
  return text;
}

void Matcher::report_leftovers() {
  const std::lock_guard lock(mutex_);
  FewLines lines;
  receiver_.for_each_unexpected([&](const Envelope& envelope, std::size_t bytes) {
    lines.add([&] {
      return fmt::format(
          "rank {} has handed a send of {} bytes with tag {} to "
          "match, and no receive for it was ever handed to match here",
          envelope.source, bytes, envelope.tag);
    });
  });
  lines.tell_the_rest("sends were handed to match without a receive here");
}

}  // namespace penstock::core
