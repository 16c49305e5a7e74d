// SPDX-License-Identifier: Apache-2.0
// The CUDA driver. It is never linked: its functions are asked for, and only where it is there. A
// HIP build has here what stands for those functions.
#pragma once

#include "base/verdict.hpp"

namespace penstock::device::gpu {

// Whether the process has loaded the driver: otherwise it can have no memory or stream of a GPU.
bool driver_is_loaded() noexcept;
// As the CUDA version of that number (12080 for 12.8) declares it; null: the driver has none.
void* driver_function(const char* name, unsigned version) noexcept;
// The calling thread's context, null if it has none: what every enqueue call asks, so without the
// runtime's overhead.
void* current_context() noexcept;
base::Verdict usable();  // there is a driver and a device. Starts the driver

}  // namespace penstock::device::gpu
