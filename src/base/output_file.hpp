// SPDX-License-Identifier: Apache-2.0
// The file that PENSTOCK_LOG_FILE or PENSTOCK_TRACE names. It is written without stdio: what stdio holds back would be
// written once more by a child of fork() that exits.
#pragma once

#include <string>
#include <string_view>

namespace penstock::base {

class OutputFile {
 public:
  enum class Mode {
    append,
    replace  // what was there goes, so it must not be behind a symbolic link, nor be another process's
  };

  // `setting` is the variable that holds `pattern`, a name as in expand_file_name(). Never blocks. Throws
  // Error(setting).
  OutputFile(const char* setting, const std::string& pattern, Mode mode);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  bool write(std::string_view text) noexcept;  // false with errno
  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_by_errno() const;

 private:
  void require_writable_kind();
  void lock() const;

  const char* setting_;
  const std::string pattern_;
  const std::string path_;
  int descriptor_ = -1;
  bool is_pipe_ = false;
};

}  // namespace penstock::base
