// SPDX-License-Identifier: Apache-2.0
#pragma once

// What kernels call as well as host threads.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define PENSTOCK_HD __host__ __device__
// Of a function that kernels call, as its code is large and seldom run.
#define PENSTOCK_HD_APART static __host__ __device__ __attribute__((noinline))
#else
#define PENSTOCK_HD
#define PENSTOCK_HD_APART inline
#endif
