// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "core/stream_operation.hpp"

namespace penstock::core {

// What follows a request's label. PST_Match for each of two requests, on both ranks, would wait for
// ever.
inline constexpr char not_matched_text[] =
    " has not been matched, or its match has failed: hand it to PST_Match first, or to one "
    "PST_Matchall with all that the two ranks exchange";

// An error that belongs to one request, and so to its communicator's error handler.
class RequestError : public base::Error {
 public:
  RequestError(const StreamOperation& operation, base::ErrorKind kind, const std::string& text)
      : Error(kind, operation.label() + text), communicator_(operation.communicator()) {}
  RequestError(const StreamOperation& operation, const base::Error& error)
      : Error(error), communicator_(operation.communicator()) {}
  const std::shared_ptr<const group::Communicator>& communicator() const noexcept {
    return communicator_;
  }

 private:
  std::shared_ptr<const group::Communicator> communicator_;
};

}  // namespace penstock::core
