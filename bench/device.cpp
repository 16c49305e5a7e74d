// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

namespace penstock::bench {

std::unique_ptr<Device> make_device(const Options& options, const tool::Session& session) {
  if (!options.on_cuda()) return make_host_device(options);
#if PENSTOCK_CUDA
  return make_cuda_device(options, session);
#else
  static_cast<void>(session);
  throw tool::UserError(
      "--device cuda: this command is built without CUDA: build one with cmake "
      "-DPENSTOCK_CUDA=ON, or use --device host");
#endif
}

}  // namespace penstock::bench
