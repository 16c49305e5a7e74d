// SPDX-License-Identifier: Apache-2.0
// The file that PENSTOCK_TRACE names, and the thread that writes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/output_file.hpp"
#include "base/sleeper.hpp"
#include "base/trace.hpp"
#include "base/trace_lines.hpp"

namespace penstock::base {

class TraceFile {
 public:
  // Throws Error(setting) when the file cannot be written, or another process is writing it.
  TraceFile(const std::string& pattern, int rank);
  // Writes what is left: no thread records any more.
  ~TraceFile();

  // The tracks of a new queue or stream, which are there until it has closed them. Throw
  // std::bad_alloc.
  trace::QueueTrace& add_queue(std::uint64_t number, std::uint64_t host_stream);
  trace::StreamTrace& add_stream(std::uint64_t number);
  std::size_t open_owners() { return owners().size(); }  // whose tracks are there

 private:
  void run() noexcept;
  bool has_work() noexcept;
  template <class Owner>
  Owner& add(std::unique_ptr<Owner> owner);
  std::vector<trace::OwnerTrace*> owners();
  void write_owners(bool all);
  void write_events(trace::OwnerTrace& owner);
  void end_owner(trace::OwnerTrace& owner);
  void write_lines();

  OutputFile file_;
  // The writer's own.
  TraceLines lines_;
  std::uint64_t dropped_ = 0;
  bool broken_ = false;  // the file takes no more

  std::mutex mutex_;
  // Any thread adds to them; the writer removes them.
  std::vector<std::unique_ptr<trace::OwnerTrace>> owners_;
  Sleeper sleeper_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace penstock::base
