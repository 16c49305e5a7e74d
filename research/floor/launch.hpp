// SPDX-License-Identifier: Apache-2.0
// Launching a kernel by the runtime's call, as <<<>>> does, or by the driver's.
#pragma once

#include <array>
#include <gpu_runtime.hpp>
#include <string_view>

namespace penstock::bench::floor {

enum class Caller { runtime, driver };
inline constexpr std::array<std::string_view, 2> caller_names{"runtime", "driver"};

struct Shape {
  unsigned blocks = 1;
  unsigned threads = 32;
};

class Kernel {
 public:
  explicit Kernel(const void* symbol);
  // `argument`: the kernel's only one. `dependent`: programmatic dependent launch.
  void launch(const Shape& shape, cudaStream_t stream, bool dependent, Caller caller,
              void* argument) const;

 private:
  void launch_by_runtime(const Shape& shape, cudaStream_t stream, bool dependent,
                         void** arguments) const;
  void launch_by_driver(const Shape& shape, cudaStream_t stream, bool dependent,
                        void** arguments) const;

  const void* symbol_;
  cudaKernel_t handle_ = nullptr;
  bool waits_ = false;  // for the kernel before it, as dependent launch needs it
};

}  // namespace penstock::bench::floor
