// SPDX-License-Identifier: Apache-2.0
#include "mover.hpp"

#include "agreement.hpp"

namespace penstock::halo {
namespace {

constexpr bool gpu_built_in(PST_Queue_type type) {
  return (type == PST_QUEUE_CUDA && PENSTOCK_CUDA) || (type == PST_QUEUE_HIP && PENSTOCK_HIP);
}

}  // namespace

std::unique_ptr<Mover> make_mover(PST_Queue_type type, void* stream, const Steering& steering) {
  if (type == PST_QUEUE_HOST) {
    return make_host_mover(stream == nullptr ? PST_STREAM_NULL : *static_cast<PST_Stream*>(stream),
                           steering);
  }
#if PENSTOCK_CUDA || PENSTOCK_HIP
  if (gpu_built_in(type) && stream != nullptr) return make_gpu_mover(stream, steering);
#endif
  if (gpu_built_in(type)) refuse("a null pointer is not the address of a stream");
  throw Error(MPI_ERR_OTHER, PST_ERROR_UNSUPPORTED,
              "penstock::halo: streams of this type are not built in; penstock info says what is");
}

}  // namespace penstock::halo
