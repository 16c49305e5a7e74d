// SPDX-License-Identifier: Apache-2.0
#include "proxy/window.hpp"

#include <algorithm>
#include <memory>

#include "plan/engine_plan.hpp"
#include "plan/operation_stream.hpp"
#include "proxy/window_origin.hpp"
#include "proxy/window_target.hpp"
#include "transport/wire_record.hpp"

namespace penstock::proxy {

ProxyWindow::ProxyWindow(ProxyEngine& engine, const transport::WindowMemory& ours, int peer,
                         std::size_t eager_max)
    : engine_(engine), ours_(ours), peer_(peer), eager_max_(eager_max) {
  record_.pair = engine.name_pair();
  record_.page_bytes = sizeof(PageHead) + plan::page_room(ours.bytes, eager_max);
  record_.tags.pages = engine.take_tag(peer);
  record_.tags.puts = engine.take_tag(peer);
  record_.tags.posts = engine.take_tag(peer);
  record_.tags.gets = engine.take_tag(peer);
}

transport::WireRecord ProxyWindow::record() const {
  return transport::to_wire(record_);
}

transport::WindowEnds ProxyWindow::connect(std::span<const std::byte> theirs,
                                           transport::OperationLists& lists) {
  using transport::Direction;
  const auto record = transport::from_wire<WindowRecord>(theirs);
  const std::size_t eager_bytes =
      std::min<std::size_t>(eager_max_, record.page_bytes - sizeof(PageHead));
  const auto origin =
      std::make_shared<WindowOrigin>(WindowOrigin::Setup{{peer_, record.pair, Direction::send},
                                                         record_.tags,
                                                         record.tags,
                                                         record.page_bytes,
                                                         eager_bytes,
                                                         &lists},
                                     engine_.communicator());
  const auto target =
      std::make_shared<WindowTarget>(WindowTarget::Setup{{peer_, record_.pair, Direction::receive},
                                                         record_.tags,
                                                         record.tags,
                                                         record_.page_bytes,
                                                         static_cast<std::byte*>(ours_.base)},
                                     engine_.communicator());
  transport::WindowEnds ends;
  ends.origin = std::make_unique<plan::EnginePlan<ProxyEngine, WindowOrigin>>(engine_, origin);
  ends.target = std::make_unique<plan::EnginePlan<ProxyEngine, WindowTarget>>(engine_, target);
  ends.reach = {.direct = true, .atomic = true, .eager_bytes = eager_bytes};
  ends.posts_are_words = false;
  engine_.enroll(origin);
  try {
    engine_.enroll(target);
  } catch (...) {
    engine_.destroy(*origin);
    throw;
  }
  return ends;
}

}  // namespace penstock::proxy
