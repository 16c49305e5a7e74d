// SPDX-License-Identifier: Apache-2.0
// An alltoallv by puts into MPI's windows, which the host drives: epochs of fences or of locks,
// with a window of each collective's own or one for all.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "exchange.hpp"

namespace penstock::bench {

inline constexpr const char* rma_fence = "rma-fence";
inline constexpr const char* rma_lock = "rma-lock";
inline constexpr const char* rma_fence_persistent = "rma-fence-persistent";
inline constexpr const char* rma_lock_persistent = "rma-lock-persistent";

inline bool is_put_collective(const std::string& library) {
  return library.starts_with("rma-");
}

// `synchronize` comes before each of them, as before MPI's collective. Collective.
std::unique_ptr<Exchange> make_put_collective(const std::string& library, const Traffic& traffic,
                                              const MemorySource& source,
                                              std::function<void()> synchronize);

}  // namespace penstock::bench
