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
  // Writes what is left: nobody records any more.
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // The tracks of a new queue, which are there until the queue has closed them. Throws std::bad_alloc.
  trace::QueueTrace& add_queue(std::uint64_t number);
  std::size_t open_queues() { return queues().size(); }  // whose tracks are there

 private:
  void run() noexcept;
  bool has_work() noexcept;
  std::vector<trace::QueueTrace*> queues();
  void write_queues(bool all);
  void write_events(trace::QueueTrace& queue);
  void end_queue(trace::QueueTrace& queue);
  void write_lines();

  OutputFile file_;
  // The writer's own.
  TraceLines lines_;
  std::uint64_t dropped_ = 0;
  bool broken_ = false;  // the file takes no more

  std::mutex mutex_;
  std::vector<std::unique_ptr<trace::QueueTrace>> queues_;  // added by any thread, removed by the writer
  Sleeper sleeper_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace penstock::base
