// SPDX-License-Identifier: Apache-2.0
// Memory for gates: pages of the process's shared memory that hold nothing else, since they are
// made known to CUDA as a whole, here and by the peer, and stay so until the end.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "peer/arena.hpp"
#include "peer_gpu/gate.hpp"

namespace penstock::peer_gpu {

class GatePages : public std::enable_shared_from_this<GatePages> {
 public:
  explicit GatePages(peer::Arena& arena) noexcept : arena_(arena) {}  // which outlives it
  ~GatePages();

  // Zeroed, and for the host so far. Throws Error(resources). Any thread.
  std::shared_ptr<Gate> take();
  peer::ArenaAddress place(const Gate& gate) const { return *arena_.find(&gate, sizeof(Gate)); }
  // A gate of ours, or of another process's pages: from now on kernels and streams address it as
  // the host does. Throws Error.
  void show_to_devices(const Gate& gate);
  // Whether all this works on the device that the stream is of, which must be the current one:
  // tried until it is known. Throws Error(resources), Error(stream) while it is not.
  bool work_on(int device, cudaStream_t stream);

 private:
  void pass(Gate& gate, cudaStream_t stream);  // throws base::Error where the device cannot

  peer::Arena& arena_;
  std::mutex mutex_;
  std::vector<Gate*> free_;
  std::set<void*> shown_;  // pages
  std::map<int, bool> work_on_;
};

}  // namespace penstock::peer_gpu
