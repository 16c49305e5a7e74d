// SPDX-License-Identifier: Apache-2.0
// What the suppressions must not hide: a stream that uses a buffer which the thread of the library,
// of libfabric or of MPI still writes. ThreadSanitizer must report seen_early, which finds the
// message without a wait. The messages are small, so that they are copied by the process's own
// memcpy (large ones may be copied by the kernel, which no sanitizer sees).
#include <algorithm>
#include <thread>

#include "conformance/one_way.hpp"

namespace penstock::test {
namespace {

void fill(void* buffer) {
  auto* sent = static_cast<Buffer*>(buffer);
  std::fill_n(sent->data(), sent->bytes(), std::byte{1});
}

void clear(void* buffer) {
  auto* received = static_cast<Buffer*>(buffer);
  std::fill_n(received->data(), received->bytes(), std::byte{0});
}

void seen_early(void* buffer) {
  const volatile std::byte& last =
      static_cast<Buffer*>(buffer)->data()[static_cast<Buffer*>(buffer)->bytes() - 1];
  for (int looks = 0; looks < 1000000 && last == std::byte{0}; ++looks) std::this_thread::yield();
}

TEST(PlantedRace, AMessageIsUsedBeforeTheWait) {
  // Over ofi a standard one goes through slots.
  OneWay pair({.bytes = 4000, .kind = Kind::synchronous});
  if (pair.receives()) {
    Buffer& buffer = pair.receiver().buffer();
    pair.receive_lane().launch(clear, &buffer);
    pair.receive_lane().start(pair.receiver().request());
    pair.receive_lane().launch(seen_early, &buffer);
    pair.receive_lane().wait(pair.receiver().request());
    pair.receive_lane().finish();
  }
  if (pair.sends()) {
    pair.send_lane().launch(fill, &pair.sender().buffer());
    pair.send_lane().start(pair.sender().request());
    pair.send_lane().wait(pair.sender().request());
    pair.send_lane().finish();
  }
}

}  // namespace
}  // namespace penstock::test
