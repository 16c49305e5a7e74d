// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gpu_runtime.hpp>

#include "exchange.hpp"

namespace penstock::bench {

// Has the exchange, whose messages have no gaps, packed from rows before each send and unpacked
// behind each receive, by kernels on the stream. `check`: what the messages hold is put into the
// rows first.
void pack_device_rows(Exchange& exchange, cudaStream_t stream, const Layout& layout, bool check);

}  // namespace penstock::bench
