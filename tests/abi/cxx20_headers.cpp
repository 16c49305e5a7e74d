// SPDX-License-Identifier: Apache-2.0
// Every public header as C++20, in the order that includes the least beforehand.
#include <penstock/mpix.h>
// The C API again, and the C++ layer over it.
#include <penstock/penstock.h>

#include <penstock/halo.hpp>
#include <penstock/penstock.hpp>

static_assert(PST_VERSION >= 100);
static_assert(MPIX_QUEUE_HOST == PST_QUEUE_HOST);
