// SPDX-License-Identifier: Apache-2.0
// The width of the flag in a message line, as this library was built.
#pragma once

#ifndef PENSTOCK_FLAG_BITS
#define PENSTOCK_FLAG_BITS 32
#endif
