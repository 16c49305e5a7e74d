// SPDX-License-Identifier: Apache-2.0
#include "overlap/courier.hpp"

#include <cerrno>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "datatype/copy.hpp"
#include "peer/cross_memory.hpp"

namespace penstock::overlap {

namespace {

using datatype::Segment;
using datatype::SegmentView;

// The kernel takes 60 to 500 ns for each run of another process: shorter ones are copied twice
// instead (docs/performance.md).
constexpr std::uint64_t shortest_run = 2048;
constexpr std::size_t longest_list = 1024;  // of segments, which the receiver reads too

bool goes_packed(const datatype::Segments& segments) {
  return segments.list().size() > longest_list || segments.mean_run() < shortest_run;
}

std::byte* pointer(std::uint64_t address) noexcept {
  return reinterpret_cast<std::byte*>(address);
}

int read(const peer::RemoteMemory& from, const SegmentView& their_view, std::byte* to,
         const SegmentView& our_view, std::size_t bytes) noexcept {
  if (from.process == 0) {
    datatype::copy(to, our_view, pointer(from.address), their_view, 0, bytes);
    return 0;
  }
  return peer::read_process(from.process, {reinterpret_cast<std::uintptr_t>(to), our_view},
                            {from.address, their_view}, 0, bytes);
}

}  // namespace

void Courier::expose(Send& send) const {
  Announcement& line = send.announced;
  line.bytes = send.bytes;
  const datatype::Segments* const segments = send.segments();
  if (segments == nullptr) {
    peer::ExposedMemory exposed = peer_.expose(send.buffer, send.bytes);
    line.buffer = exposed.record;
    send.kept = std::move(exposed.kept);
    return;
  }
  const SegmentView view = segments->view();
  if (goes_packed(*segments)) {
    send.packed = std::make_unique_for_overwrite<std::byte[]>(send.bytes);
    datatype::Walk(view).pack(send.packed.get(), send.buffer, 0, send.bytes);
    line.buffer.address = reinterpret_cast<std::uintptr_t>(send.packed.get());
    return;
  }
  line.buffer.address = reinterpret_cast<std::uintptr_t>(send.buffer);
  line.list = reinterpret_cast<std::uintptr_t>(view.list);
  line.segments = static_cast<std::uint32_t>(view.segments);
  line.list_bytes = view.bytes;
  line.extent = view.extent;
}

int Courier::pull(const Receive& receive) const noexcept {
  try {
    const Announcement& line = receive.arrival.announced;
    const int sender = receive.arrival.sender;
    const auto from = peer_.reach(sender, line.buffer);
    if (!from) return ENOSYS;
    std::vector<Segment> list(line.segments);
    SegmentView their_view;
    if (line.list != 0) {
      peer::MemoryRecord list_record;
      list_record.address = line.list;
      const auto list_at = peer_.reach(sender, list_record);
      if (!list_at) return ENOSYS;
      if (const int error = read(*list_at, {}, reinterpret_cast<std::byte*>(list.data()), {},
                                 list.size() * sizeof(Segment)))
        return error;
      their_view = {list.data(), list.size(), line.list_bytes, line.extent};
    }
    const datatype::Segments* const ours = receive.segments();
    if (ours == nullptr) return read(*from, their_view, receive.buffer, {}, receive.bytes);
    const SegmentView our_view = ours->view();
    if (from->process == 0 || ours->mean_run() >= shortest_run)
      return read(*from, their_view, receive.buffer, our_view, receive.bytes);
    const auto packed = std::make_unique_for_overwrite<std::byte[]>(receive.bytes);
    if (const int error = read(*from, their_view, packed.get(), {}, receive.bytes)) return error;
    datatype::Walk(our_view).unpack(receive.buffer, packed.get(), 0, receive.bytes);
    return 0;
  } catch (const std::exception&) {
    return ENOMEM;  // for the list, for room, or for mapping what is theirs
  }
}

}  // namespace penstock::overlap
