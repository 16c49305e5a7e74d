// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/forked.hpp"
#include "base/output_file.hpp"

namespace penstock::base::log {
namespace {

std::atomic<LogLevel> threshold{LogLevel::warn};

struct LogDestination {
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> logger;
  int rank = -1;
};

// Never destroyed: threads and exit handlers may still write.
LogDestination& destination() {
  static auto* const it = new LogDestination;
  return *it;
}

// Once the file takes no more, what would stand there goes to standard error.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(const std::string& pattern)
      : file_("PENSTOCK_LOG_FILE", pattern, OutputFile::OpenMode::append) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (!broken_ && !file_.write({line.data(), line.size()})) {
      broken_ = true;
      fmt::print(
          stderr,
          "penstock: PENSTOCK_LOG_FILE: {} takes no more ({}): the log goes to standard error\n",
          file_.path(), std::strerror(errno));
    }
    if (broken_) std::fwrite(line.data(), 1, line.size(), stderr);
  }
  void flush_() override {}

  OutputFile file_;
  bool broken_ = false;
};

// Called with the destination's lock held.
void set_pattern(LogDestination& to) {
  const std::string who = to.rank < 0 ? "penstock" : fmt::format("penstock {}", to.rank);
  to.logger->set_pattern(fmt::format("[{}] [%H:%M:%S.%e] [%l] %v", who));
}

void use_sink(LogDestination& to, spdlog::sink_ptr sink) {
  to.logger = std::make_shared<spdlog::logger>("penstock", std::move(sink));
  to.logger->set_level(spdlog::level::trace);  // write() has looked at the level
  to.logger->flush_on(spdlog::level::trace);
  set_pattern(to);
}

// A line written before configure() goes to standard error.
std::shared_ptr<spdlog::logger> logger() {
  auto& to = destination();
  const std::lock_guard lock(to.mutex);
  if (!to.logger) use_sink(to, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  return to.logger;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::info:
      return spdlog::level::info;
    default:
      return spdlog::level::debug;
  }
}

void put(LogLevel level, std::string_view text) noexcept {
  if (forked()) return;  // the file is the parent's, and one of its threads may have held our lock
  try {
    logger()->log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
  } catch (...) {
    // A line that cannot be written is lost: nothing may fail because of the log.
  }
}

}  // namespace

void configure(LogLevel level, const std::string& file) {
  spdlog::sink_ptr sink;
  if (file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<FileSink>(file);
  }
  auto& to = destination();
  const std::lock_guard lock(to.mutex);
  use_sink(to, std::move(sink));
  threshold.store(level, std::memory_order_relaxed);
}

void set_rank(int rank) {
  auto& to = destination();
  const std::lock_guard lock(to.mutex);
  to.rank = rank;
  if (to.logger) set_pattern(to);
}

bool enabled(LogLevel level) noexcept {
  return level != LogLevel::off && level <= threshold.load(std::memory_order_relaxed);
}

void write(LogLevel level, std::string_view text) noexcept {
  if (enabled(level)) put(level, text);
}

void report(std::string_view text) noexcept {
  put(LogLevel::info, text);
}

}  // namespace penstock::base::log
