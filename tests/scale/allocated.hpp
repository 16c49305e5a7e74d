// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>

namespace penstock::scale {

// Bytes of this process's heap that are in use. Malloc walks its free lists to say it, which takes
// long where there are many. With a sanitizer's malloc it is 0.
inline double allocated() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

}  // namespace penstock::scale
