// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace penstock::tool {

// Runs a step that one rank alone may fail in: all ranks then fail alike, with UserError,
// which names the first rank that failed and why. The step itself exchanges nothing. Collective.
void together(const std::function<void()>& step);

}  // namespace penstock::tool
