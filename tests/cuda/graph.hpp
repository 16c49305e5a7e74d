// SPDX-License-Identifier: Apache-2.0
// What a stream captures, as a graph to be launched there.
#pragma once

#include <gtest/gtest.h>
#include <functional>
#include <gpu_runtime.hpp>

#define ASSERT_CUDA(call) ASSERT_EQ(call, cudaSuccess)

namespace penstock::test {

class Graph {
 public:
  // Global: no thread of the process may make a call meanwhile that a capture forbids.
  Graph(cudaStream_t stream, const std::function<void()>& enqueue,
        cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal)
      : stream_(stream) {
    capture(enqueue, mode);
  }
  ~Graph() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch() { ASSERT_CUDA(cudaGraphLaunch(graph_, stream_)); }

 private:
  void capture(const std::function<void()>& enqueue, cudaStreamCaptureMode mode) {
    cudaGraph_t graph = nullptr;
    ASSERT_CUDA(cudaStreamBeginCapture(stream_, mode));
    enqueue();
    ASSERT_CUDA(cudaStreamEndCapture(stream_, &graph));
    ASSERT_CUDA(cudaGraphInstantiate(&graph_, graph, 0));
    ASSERT_CUDA(cudaGraphDestroy(graph));
    ASSERT_CUDA(cudaGraphUpload(graph_, stream_));
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
  }

  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace penstock::test
