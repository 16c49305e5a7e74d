// SPDX-License-Identifier: Apache-2.0
// The memory of both ends: ours, and the peer's as our device addresses it. Both ranks make and
// destroy it together.
#pragma once

#include <memory>

#include "kernels.hpp"

namespace penstock::bench::floor {

struct End {
  Words* words = nullptr;
  Cell* ring = nullptr;
  std::byte* inbox = nullptr;
};

class Ends {
 public:
  // For messages of so many bytes, by lines or by pushes.
  Ends(Way way, std::size_t bytes, int rank);
  ~Ends();
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  const End& own() const { return own_; }
  const End& peer() const { return peer_; }

 private:
  void* own_base_ = nullptr;
  void* peer_base_ = nullptr;
  End own_;
  End peer_;
};

}  // namespace penstock::bench::floor
