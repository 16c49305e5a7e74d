// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/shared_texts.hpp"
#include "base/verdict.hpp"

namespace penstock::ofi {

// Whether the network serves a peer, and why (not). Each process has one of every rank of the job:
// small, and texts are shared.
struct Reach {
  bool yes = false;
  base::SharedTexts::Text why;

  base::Verdict verdict() const { return {yes, *why}; }
};

}  // namespace penstock::ofi
