// SPDX-License-Identifier: Apache-2.0
// Owners of a stream and of a captured program.
#pragma once

#include <functional>

#include "cuda_check.hpp"

namespace penstock::bench {

class CudaStream {
 public:
  CudaStream() { CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~CudaStream() { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// What `program` enqueues on the stream, captured once.
class CudaGraph {
 public:
  CudaGraph(cudaStream_t stream, const std::function<void()>& program) : stream_(stream) {
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    program();
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph_));
    CHECK_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
    CHECK_CUDA(cudaGraphUpload(executable_, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
  }
  ~CudaGraph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  void launch() { CHECK_CUDA(cudaGraphLaunch(executable_, stream_)); }
  // The blocks of the kernel that has the most; 0 where the driver does not say.
  unsigned most_blocks() const;

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace penstock::bench
