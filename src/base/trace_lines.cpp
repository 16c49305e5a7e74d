// SPDX-License-Identifier: Apache-2.0
#include "base/trace_lines.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>

#include "base/file_name.hpp"

namespace penstock::base {

using trace::Clock;
using trace::Event;
using trace::OwnerTrace;
using trace::QueueTrace;
using trace::TraceKind;

namespace {

constexpr std::uint64_t first_stream_thread = 1'000'000'000;  // far from the threads of queues

// A JSON string. A file's name may be any bytes: those that are not ASCII become characters of
// their numbers.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte < 0x20 || byte > 0x7e || each == '"' || each == '\\')
      result += fmt::format("\\u{:04x}", byte);
    else
      result += each;
  }
  return result + '"';
}

std::uint64_t thread_of(const OwnerTrace& owner) {
  const bool is_queue = dynamic_cast<const QueueTrace*>(&owner) != nullptr;
  return is_queue ? owner.number * 2 + 1 : first_stream_thread + owner.number;
}

// Where the linker has dropped a function's name, its file and offset are written: addr2line turns
// them into a name.
std::string symbol_at(std::uint64_t address) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_fname == nullptr)
    return fmt::format("{:#x}", address);
  if (info.dli_sname == nullptr)
    return fmt::format("{}+{:#x}", std::filesystem::path(info.dli_fname).filename().string(),
                       address - reinterpret_cast<std::uint64_t>(info.dli_fbase));
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), std::free);
  return name ? name.get() : info.dli_sname;
}

// Times stay those of the host's clock, so that ranks can be compared.
double microseconds(Clock::time_point time) {
  return std::chrono::duration<double, std::micro>(time.time_since_epoch()).count();
}

double duration(const Event& event) {
  return std::chrono::duration<double, std::micro>(event.end - event.begin).count();
}

bool is_call(TraceKind kind) {
  return kind < TraceKind::trigger;
}

const char* name_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::start_call:
      return "start";
    case TraceKind::wait_call:
    case TraceKind::wait:
      return "wait";
    case TraceKind::trigger:
      return "trigger";
    default:
      return "transfer";
  }
}

std::string half_of(const Event& event) {
  const auto& message = event.message;
  if (message.collective != nullptr)
    return fmt::format("{} {}", message.collective, message.number);
  if (message.peer < 0) return "enqueued messages";
  if (message.window >= 0)
    return fmt::format("{} rank {}, window {}", message.sends ? "access to" : "exposure to",
                       message.peer, message.window);
  return fmt::format("{} {}", message.sends ? "send to" : "receive from", message.peer);
}

std::string arguments_of(const Event& event) {
  if (event.message.collective != nullptr)
    return fmt::format(
        R"("args":{{"half":"collective","collective":"{}","number":{},"bytes":{},"epoch":{}}})",
        event.message.collective, event.message.number, event.message.bytes, event.epoch);
  if (event.message.peer < 0)
    return fmt::format(R"("args":{{"half":"enqueued","epoch":{}}})", event.epoch);
  if (event.message.window >= 0)
    return fmt::format(R"("args":{{"half":"{}","peer":{},"window":{},"epoch":{}}})",
                       event.message.sends ? "access" : "exposure", event.message.peer,
                       event.message.window, event.epoch);
  return fmt::format(R"("args":{{"half":"{}","peer":{},"tag":{},"bytes":{},"epoch":{}}})",
                     event.message.sends ? "send" : "receive", event.message.peer,
                     event.message.tag, event.message.bytes, event.epoch);
}

}  // namespace

std::string& TraceLines::next_line() {
  return text_ += std::exchange(begun_, true) ? ",\n" : "[";
}

void TraceLines::add_process() {
  fmt::format_to(
      std::back_inserter(next_line()),
      R"({{"ph":"M","pid":{0},"name":"process_name","args":{{"name":"rank {0} on {1}, process {2}"}}}})",
      rank_, host_name(), getpid());
}

void TraceLines::announce(const OwnerTrace& owner) {
  if (const auto* const queue = dynamic_cast<const QueueTrace*>(&owner)) {
    add_thread(owner.number * 2, fmt::format("queue {}: calls", owner.number));
    add_thread(owner.number * 2 + 1, fmt::format("queue {}: stream", owner.number),
               queue->host_stream);
  } else {
    add_thread(thread_of(owner), fmt::format("stream {}: functions", owner.number));
  }
}

void TraceLines::add_thread(std::uint64_t thread, const std::string& name,
                            std::uint64_t host_stream) {
  const std::string stream = host_stream > 0 ? fmt::format(R"(,"stream":{})", host_stream) : "";
  fmt::format_to(std::back_inserter(next_line()),
                 R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"{}}}}})",
                 rank_, thread, name, stream);
}

void TraceLines::add(std::uint64_t owner, const Event& event) {
  if (event.kind == TraceKind::function) return add_function(owner, event);
  const std::uint64_t thread = owner * 2 + (is_call(event.kind) ? 0 : 1);
  if (event.kind == TraceKind::transfer)
    add_transfer(thread, event);
  else
    add_span(thread, event);
}

void TraceLines::add_function(std::uint64_t stream, const Event& event) {
  fmt::format_to(
      std::back_inserter(next_line()),
      R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"cat":"function","name":{},"args":{{"stream":{}}}}})",
      rank_, first_stream_thread + stream, microseconds(event.begin), duration(event),
      name_of_function(event.epoch), stream);
}

const std::string& TraceLines::name_of_function(std::uint64_t address) {
  std::string& name = functions_[address];
  if (name.empty()) name = quoted(symbol_at(address));
  return name;
}

void TraceLines::add_span(std::uint64_t thread, const Event& event) {
  fmt::format_to(
      std::back_inserter(next_line()),
      R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"cat":"{}","name":"{} {}",{}}})",
      rank_, thread, microseconds(event.begin), duration(event),
      is_call(event.kind) ? "call" : name_of(event.kind), name_of(event.kind), half_of(event),
      arguments_of(event));
}

// Transfers of one stream overlap, which the spans of a thread may not.
void TraceLines::add_transfer(std::uint64_t thread, const Event& event) {
  const std::string what =
      fmt::format(R"("pid":{},"tid":{},"id":"{}.{}","cat":"transfer","name":"{}")", rank_, thread,
                  rank_, ++transfers_, half_of(event));
  fmt::format_to(std::back_inserter(next_line()), R"({{"ph":"b",{},"ts":{:.3f},{}}})", what,
                 microseconds(event.begin), arguments_of(event));
  fmt::format_to(std::back_inserter(next_line()), R"({{"ph":"e",{},"ts":{:.3f}}})", what,
                 microseconds(event.end));
}

void TraceLines::add_dropped(const OwnerTrace& owner, std::uint64_t dropped) {
  fmt::format_to(
      std::back_inserter(next_line()),
      R"({{"ph":"i","s":"t","pid":{},"tid":{},"ts":{:.3f},"cat":"dropped","name":"{} events dropped","args":{{"dropped":{}}}}})",
      rank_, thread_of(owner), microseconds(Clock::now()), dropped, dropped);
}

void TraceLines::add_end() {
  text_ += "]\n";
}

}  // namespace penstock::base
