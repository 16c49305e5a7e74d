// SPDX-License-Identifier: Apache-2.0
#include "base/trace_lines.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <utility>

#include "base/file_name.hpp"

namespace penstock::base {

using trace::Clock;
using trace::Event;
using trace::Kind;

namespace {

// What is compared between ranks are times of one clock: they are not made relative to anything.
double microseconds(Clock::time_point time) {
  return std::chrono::duration<double, std::micro>(time.time_since_epoch()).count();
}

double duration(const Event& event) {
  return std::chrono::duration<double, std::micro>(event.end - event.begin).count();
}

bool is_call(Kind kind) {
  return kind < Kind::trigger;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::start_call:
      return "start";
    case Kind::wait_call:
    case Kind::wait:
      return "wait";
    case Kind::trigger:
      return "trigger";
    default:
      return "transfer";
  }
}

std::string half_of(const Event& event) {
  return fmt::format("{} {}", event.message.sends ? "send to" : "receive from", event.message.peer);
}

std::string arguments_of(const Event& event) {
  return fmt::format(R"("args":{{"half":"{}","peer":{},"tag":{},"bytes":{},"epoch":{}}})",
                     event.message.sends ? "send" : "receive", event.message.peer, event.message.tag,
                     event.message.bytes, event.epoch);
}

}  // namespace

std::string& TraceLines::next_line() {
  return text_ += std::exchange(begun_, true) ? ",\n" : "[";
}

void TraceLines::add_process() {
  fmt::format_to(std::back_inserter(next_line()),
                 R"({{"ph":"M","pid":{0},"name":"process_name","args":{{"name":"rank {0} on {1}, process {2}"}}}})",
                 rank_, host_name(), getpid());
}

void TraceLines::add_queue(std::uint64_t number) {
  add_thread(number * 2, "calls", number);
  add_thread(number * 2 + 1, "stream", number);
}

void TraceLines::add_thread(std::uint64_t thread, const char* what, std::uint64_t queue) {
  fmt::format_to(std::back_inserter(next_line()),
                 R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"queue {}: {}"}}}})", rank_,
                 thread, queue, what);
}

void TraceLines::add(std::uint64_t queue, const Event& event) {
  const std::uint64_t thread = queue * 2 + (is_call(event.kind) ? 0 : 1);
  if (event.kind == Kind::transfer)
    add_transfer(thread, event);
  else
    add_span(thread, event);
}

void TraceLines::add_span(std::uint64_t thread, const Event& event) {
  fmt::format_to(std::back_inserter(next_line()),
                 R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"cat":"{}","name":"{} {}",{}}})", rank_,
                 thread, microseconds(event.begin), duration(event), is_call(event.kind) ? "call" : name_of(event.kind),
                 name_of(event.kind), half_of(event), arguments_of(event));
}

// Transfers of one stream overlap, which the spans of a thread may not.
void TraceLines::add_transfer(std::uint64_t thread, const Event& event) {
  const std::string what = fmt::format(R"("pid":{},"tid":{},"id":"{}.{}","cat":"transfer","name":"{}")", rank_, thread,
                                       rank_, ++transfers_, half_of(event));
  fmt::format_to(std::back_inserter(next_line()), R"({{"ph":"b",{},"ts":{:.3f},{}}})", what, microseconds(event.begin),
                 arguments_of(event));
  fmt::format_to(std::back_inserter(next_line()), R"({{"ph":"e",{},"ts":{:.3f}}})", what, microseconds(event.end));
}

void TraceLines::add_dropped(std::uint64_t queue, std::uint64_t dropped) {
  fmt::format_to(
      std::back_inserter(next_line()),
      R"({{"ph":"i","s":"t","pid":{},"tid":{},"ts":{:.3f},"cat":"dropped","name":"{} events dropped","args":{{"dropped":{}}}}})",
      rank_, queue * 2 + 1, microseconds(Clock::now()), dropped, dropped);
}

void TraceLines::add_end() {
  text_ += "]\n";
}

}  // namespace penstock::base
