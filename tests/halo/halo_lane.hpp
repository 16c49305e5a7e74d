// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/device.hpp"

namespace penstock::test {

// A stream of the device under test, with the address that queues and halos ask for.
class HaloLane {
 public:
  HaloLane() : stream_(make_stream()) {}
  ~HaloLane() { free_stream(stream_); }
  HaloLane(const HaloLane&) = delete;
  HaloLane& operator=(const HaloLane&) = delete;

  Stream stream() const { return stream_; }
  void* address() { return &stream_; }

 private:
  Stream stream_;
};

}  // namespace penstock::test
