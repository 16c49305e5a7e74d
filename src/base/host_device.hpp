// SPDX-License-Identifier: Apache-2.0
#pragma once

// What kernels call as well as host threads.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define PENSTOCK_HD __host__ __device__
#else
#define PENSTOCK_HD
#endif
