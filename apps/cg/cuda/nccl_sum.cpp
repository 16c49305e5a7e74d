// SPDX-License-Identifier: Apache-2.0
#include "cg/sum.hpp"
#include "support/cuda/nccl_library.hpp"

namespace penstock::cg {
namespace {

class NcclSum final : public Sum {
 public:
  NcclSum(const tool::Nccl& nccl, apps::Lane& lane, double& own, double& all)
      : nccl_(nccl),
        comm_(tool::nccl_communicator(nccl)),
        stream_(static_cast<cudaStream_t>(lane.gpu_stream())),
        own_(own),
        all_(all) {
    enqueue();  // NCCL connects the ranks at the first call, which shall not be one in a capture
    lane.synchronize();
  }

  std::optional<double> enqueue() override {
    nccl_.check(
        nccl_.all_reduce(&own_, &all_, 1, tool::ncclFloat64, tool::ncclSum, comm_, stream_));
    return std::nullopt;
  }

 private:
  const tool::Nccl& nccl_;
  tool::NcclComm comm_;
  cudaStream_t stream_;
  double& own_;
  double& all_;
};

}  // namespace

std::unique_ptr<Sum> make_nccl_sum(apps::Lane& lane, double& own, double& all) {
  std::string why_not;
  const tool::Nccl* const nccl = tool::load_nccl(why_not);
  if (nccl == nullptr) throw NoNccl("NCCL cannot be used: " + why_not);
  return std::make_unique<NcclSum>(*nccl, lane, own, all);
}

}  // namespace penstock::cg
