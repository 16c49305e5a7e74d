// SPDX-License-Identifier: Apache-2.0
// Events as text in the trace event format, one a line: a JSON array, of which readers do not need
// the end.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/trace.hpp"

namespace penstock::base {

// The process is the rank; each queue is two of its threads, 2n for the calls and 2n + 1 for the
// stream, and each host stream is one.
class TraceLines {
 public:
  explicit TraceLines(int rank) : rank_(rank) {}

  void add_process();
  void announce(const trace::OwnerTrace& owner);
  void add(std::uint64_t owner, const trace::Event& event);
  void add_dropped(const trace::OwnerTrace& owner, std::uint64_t dropped);
  void add_end();

  const std::string& text() const noexcept { return text_; }
  void clear() noexcept { text_.clear(); }

 private:
  // Ends the line before, and returns the text to append the next one to.
  std::string& next_line();
  void add_thread(std::uint64_t thread, const std::string& name, std::uint64_t host_stream = 0);
  void add_function(std::uint64_t stream, const trace::Event& event);
  const std::string& name_of_function(std::uint64_t address);
  void add_span(std::uint64_t thread, const trace::Event& event);
  void add_transfer(std::uint64_t thread, const trace::Event& event);

  const int rank_;
  bool begun_ = false;
  std::uint64_t transfers_ = 0;
  std::unordered_map<std::uint64_t, std::string> functions_;  // JSON texts by address
  std::string text_;
};

}  // namespace penstock::base
