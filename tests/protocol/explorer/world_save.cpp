// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/explorer/world.hpp"

namespace penstock::explorer {

std::string World::save(const State& state) const {
  std::string bytes;
  bytes.reserve(512);
  auto put = [&](auto value) { bytes.push_back(static_cast<char>(value)); };
  state.memory.append(bytes);
  for (unsigned e = 0; e < 2 * specs_.size(); ++e) {
    const Endpoint& endpoint = state.endpoints[e];
    put(endpoint.send.done + endpoint.receive.done);
    put(endpoint.send.posted | endpoint.send.copied << 1 | endpoint.receive.copied << 2 |
        endpoint.closed << 3 | endpoint.fate.failed << 4 | endpoint.fate.misplaced << 5 |
        endpoint.receive.told << 6 | endpoint.receive.posted << 7);
    put(static_cast<unsigned>(endpoint.send.stage) << 4 |
        static_cast<unsigned>(endpoint.receive.stage));
    put(endpoint.receive.line);
    if (specs_[pair_of(e)].untouched)
      put(endpoint.receive.pulls | endpoint.receive.touched << 1 | endpoint.ending << 2);
    if (specs_[pair_of(e)].path == Path::window) {
      put(endpoint.send.announced | endpoint.send.stored << 1);
      put(side_of(e) == Side::sender ? endpoint.send.part : endpoint.receive.part);
      put(endpoint.receive.head.lines << 4 | endpoint.receive.head.parts);
    }
    put(endpoint.started);
    put(endpoint.ended);
  }
  for (unsigned p = 0; p < specs_.size(); ++p) put(state.copied[p]);
  for (unsigned t = 0; t < threads(); ++t) {
    const Thread& thread = state.threads[t];
    put(thread.at);
    put(thread.waiting);
    put(static_cast<unsigned>(thread.activity) << 3 | thread.knows << 2 | thread.failed << 1 |
        thread.halted << 0);
    put(thread.endpoint);
    put(thread.log.size);
    bytes.append(reinterpret_cast<const char*>(thread.log.values.data()), thread.log.size);
  }
  if (may_close_) put(state.releases);
  return bytes;
}

void World::restore(const std::string& bytes, State& state) const {
  const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data());
  at = state.memory.restore(at);
  for (unsigned e = 0; e < 2 * specs_.size(); ++e) {
    Endpoint& endpoint = state.endpoints[e];
    (side_of(e) == Side::sender ? endpoint.send.done : endpoint.receive.done) = *at++;
    endpoint.send.posted = *at & 1;
    endpoint.send.copied = *at & 2;
    endpoint.receive.copied = *at & 4;
    endpoint.closed = *at & 8;
    endpoint.fate = {(*at & 16) != 0, (*at & 32) != 0};
    endpoint.receive.told = *at & 64;
    endpoint.receive.posted = *at & 128;
    ++at;
    endpoint.send.stage = static_cast<protocol::Stage>(*at >> 4);
    endpoint.receive.stage = static_cast<protocol::Stage>(*at++ & 15);
    endpoint.receive.line = *at++;
    if (specs_[pair_of(e)].untouched) {
      endpoint.receive.pulls = *at & 1;
      endpoint.receive.touched = *at & 2;
      endpoint.ending = *at++ & 4;
    }
    if (specs_[pair_of(e)].path == Path::window) {
      endpoint.send.announced = *at & 1;
      endpoint.send.stored = *at++ & 2;
      (side_of(e) == Side::sender ? endpoint.send.part : endpoint.receive.part) = *at++;
      endpoint.receive.head.lines = *at >> 4;
      endpoint.receive.head.parts = *at++ & 15;
    }
    endpoint.started = *at++;
    endpoint.ended = *at++;
  }
  for (unsigned p = 0; p < specs_.size(); ++p) state.copied[p] = *at++;
  for (unsigned t = 0; t < threads(); ++t) {
    Thread& thread = state.threads[t];
    thread.at = *at++;
    thread.waiting = *at++;
    thread.activity = static_cast<Activity>(*at >> 3);
    thread.knows = *at & 4;
    thread.failed = *at & 2;
    thread.halted = *at++ & 1;
    thread.endpoint = *at++;
    thread.log = CallLog{};
    thread.log.size = *at++;
    std::copy_n(at, thread.log.size, thread.log.values.begin());
    at += thread.log.size;
  }
  state.releases = may_close_ ? *at++ : std::uint8_t{0};
}

}  // namespace penstock::explorer
