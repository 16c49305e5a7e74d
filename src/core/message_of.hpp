// SPDX-License-Identifier: Apache-2.0
// What transports are told of a request that is handed to match.
#pragma once

#include "core/matched_request.hpp"
#include "transport/message.hpp"

namespace penstock::core {

transport::Message message_of(const MatchedRequest& request, int peer_world);

}  // namespace penstock::core
