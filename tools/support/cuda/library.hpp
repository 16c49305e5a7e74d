// SPDX-License-Identifier: Apache-2.0
// Libraries that are looked for when they are asked for, and not needed to build.
#pragma once

#include <dlfcn.h>

#include <string>

namespace penstock::tool {

class Library {
 public:
  explicit Library(const char* name) : name_(name), handle_(dlopen(name, RTLD_NOW)) {
    if (handle_ == nullptr) why_not_ = dlerror();
  }
  // Returns false, and why_not() says so, where the library or the function is missing.
  template <class Function>
  bool find(const char* name, Function& function) {
    if (handle_ == nullptr) return false;
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr) why_not_ = std::string(name_) + " has no " + name;
    return function != nullptr;
  }
  const std::string& why_not() const { return why_not_; }

 private:
  const char* name_;
  void* handle_;
  std::string why_not_;
};

}  // namespace penstock::tool
