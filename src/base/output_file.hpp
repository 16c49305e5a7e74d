// SPDX-License-Identifier: Apache-2.0
// The file that PENSTOCK_LOG_FILE or PENSTOCK_TRACE names. It is written without stdio: what stdio
// holds back would be written once more by a child of fork() that exits.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/no_copy.hpp"

namespace penstock::base {

class OutputFile : private NoCopy {
 public:
  enum class OpenMode {
    append,
    replace  // what was there goes, so it must not be behind a symbolic link, nor be another
             // process's
  };

  // `setting` is the variable that holds `pattern`, a name as in expand_file_name(). Never blocks.
  // A pipe or terminal that takes nothing for `patience` fails. Throws Error(setting).
  OutputFile(const char* setting, const std::string& pattern, OpenMode mode,
             std::chrono::milliseconds patience = std::chrono::seconds(5));
  ~OutputFile();

  const std::string& path() const noexcept { return path_; }
  bool write(std::string_view text) noexcept;  // false with errno; ETIME: `patience` is over
  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_by_errno() const;

 private:
  [[noreturn]] void refuse_to_open(int error, OpenMode mode) const;
  void require_writable_kind();
  bool wait_for_room(std::chrono::steady_clock::time_point since) const noexcept;
  void lock() const;

  const char* setting_;
  const std::string pattern_;
  const std::string path_;
  const std::chrono::milliseconds patience_;
  int descriptor_ = -1;
  bool is_pipe_ = false;
};

}  // namespace penstock::base
