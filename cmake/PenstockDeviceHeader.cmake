# SPDX-License-Identifier: Apache-2.0
# include/penstock/device_code.cuh of the build folder: what penstock/device.cuh needs of the sources, one behind the other. The
# kernels of programs run the same state machines as ours, and a program has one header more, not a tree of them.

set(penstock_device_sources
  base/flag_bits.hpp base/host_device.hpp
  protocol/epoch.hpp protocol/port.hpp protocol/state.hpp protocol/closing.hpp protocol/deferred_fin.hpp protocol/ring.hpp
  protocol/gate.hpp datatype/rows.hpp ../compat/gpu_device_code.hpp
  gpu/words.hpp gpu/access.cuh gpu/reports.cuh gpu/poll_timer.cuh
  peer_gpu/half_words.hpp peer_gpu/message_words.hpp peer_gpu/lines.cuh peer_gpu/device_half.hpp peer_gpu/share_port.cuh
  peer_gpu/block_share.cuh
  peer_gpu/share_sender.cuh peer_gpu/share_receiver.cuh)
set(penstock_built_include_dir "${PROJECT_BINARY_DIR}/include")

set(text "// SPDX-License-Identifier: Apache-2.0
// What penstock/device.cuh needs of the library's sources, as this library was built. Made by its build: change those.
#pragma once

#ifndef PENSTOCK_FLAG_BITS
#define PENSTOCK_FLAG_BITS ${PENSTOCK_FLAG_BITS}
#endif
#ifndef PENSTOCK_HIP
#ifdef __HIPCC__
#define PENSTOCK_HIP 1
#else
#define PENSTOCK_HIP 0
#endif
#endif
#define PENSTOCK_DEVICE_CODE 1
#if PENSTOCK_HIP
#include <hip/hip_runtime.h>
#else
#include <cuda/atomic>
#include <cuda_runtime.h>
#endif
")
foreach(source IN LISTS penstock_device_sources)
  set(path "${PROJECT_SOURCE_DIR}/src/${source}")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
  file(READ "${path}" content)
  string(REGEX REPLACE "// SPDX[^\n]*\n" "" content "${content}")
  string(REGEX REPLACE "#pragma once\n" "" content "${content}")
  string(REGEX REPLACE "#include (\"[^\n]*|<gpu_runtime.hpp>)\n" "" content "${content}")
  # Apart from the names of the public headers, and of ours where both are seen.
  string(REPLACE "namespace penstock::" "namespace penstock::kernel_code::" content "${content}")
  string(REGEX REPLACE "\n\n\n+" "\n\n" content "${content}")
  string(APPEND text "\n// ---- ${source}\n${content}")
endforeach()
file(CONFIGURE OUTPUT "${penstock_built_include_dir}/penstock/device_code.cuh" CONTENT "${text}" @ONLY)
