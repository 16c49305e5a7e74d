/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels take of a matched request. Without MPI, so that files of kernels need none.
 */
#ifndef PENSTOCK_DEVICE_REQUEST_H
#define PENSTOCK_DEVICE_REQUEST_H

/* One half of a matched pair, for kernels. It is plain data, which kernels take by value, and valid
 * until the request is freed. What is in it is the library's. */
typedef struct PST_Device_request {
  unsigned long long opaque[18];
} PST_Device_request;

#endif
