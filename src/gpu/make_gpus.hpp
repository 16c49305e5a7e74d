// SPDX-License-Identifier: Apache-2.0
// Makes Gpus for code that must not see CUDA's headers.
#pragma once

#include <memory>

#include "base/settings.hpp"

namespace penstock::gpu {

class Gpus;
// Asks nothing of the driver.
std::shared_ptr<Gpus> make_gpus(const base::Settings& settings);

}  // namespace penstock::gpu
