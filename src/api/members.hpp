// SPDX-License-Identifier: Apache-2.0
// What a call does that is collective over a group while it waits for the others.
#pragma once

#include <functional>

#include "core/library.hpp"
#include "group/window_group.hpp"

namespace penstock::api {

// As Library::meanwhile(); throws base::Error(peer_dead) when the process of a member has ended,
// which will not come.
std::function<bool()> while_alive(core::Library& library, const group::WindowGroup& members);

}  // namespace penstock::api
