// SPDX-License-Identifier: Apache-2.0
// The exchange on a stream.
#include <optional>

#include "agreement.hpp"
#include "messages.hpp"

namespace penstock::halo::detail {

// Why the receive of every ready send has been started. Exchange k uses set k mod 2. On each rank's
// stream it is: pack message k; start receives k + 1; start sends k; wait for both; unpack.
//   1. A rank starts receives k + 1 before it sends its messages k.
//   2. A rank sends message k + 1 to a neighbour after it has waited for message k of that
//   neighbour: all neighbours
//      exchange messages in both ways, in gathers and in scatters. So by 1 that message proves that
//      receive k + 1 has been started there.
//   3. Receives 0 are started by the constructor, which waits until its stream has done so, and for
//   all others.
// Receive k + 1 must not share a buffer with message k, which is still to be unpacked: that is why
// there are two sets.
class StreamHalo {
 public:
  StreamHalo(PST_Queue_type type, void* stream, const GridShape& grid, const Options& options,
             std::span<const Array> arrays)
      : grid_(grid), options_(options), shapes_(arrays.begin(), arrays.end()) {
    together(grid_.comm(), [&] { check_arguments(grid_, options_, shapes_); });
    expect_same(grid_.comm(), description(options_, shapes_));
    together(grid_.comm(), [&] { make(type, stream); });
    for (auto& set : sets_) match(set->all());
    if (is_ready() && !steering_.neighbours.empty()) open_first_receives();
  }

  ~StreamHalo() {
    if (!penstock::detail::library_is_running()) return;
    // Errors have been said before. Whatever fails, free() waits for the stream, which may still
    // use what dies next.
    try {
      if (receives_open_) complete_open_receives();
    } catch (const Error&) {
    }
    try {
      queue_->free();
    } catch (const Error&) {
    }
  }
  StreamHalo(const StreamHalo&) = delete;
  StreamHalo& operator=(const StreamHalo&) = delete;

  void enqueue(Direction direction, Reduction reduction, std::span<const Array> arrays) {
    check_arrays(shapes_, arrays);
    if (steering_.neighbours.empty()) return;
    if (is_ready()) mover_->expect_no_capture();
    Messages& now = *sets_[next_set_];
    if (!is_ready()) queue_->start(now.receives());
    mover_->pack(direction, arrays, now.outgoing());
    if (is_ready()) {
      next_set_ = 1 - next_set_;
      queue_->start(sets_[next_set_]->receives());
    }
    queue_->start(now.sends());
    queue_->wait(now.all());
    mover_->unpack(direction, reduction, arrays, now.incoming());
  }

  // Not by PST_Queue_wait, which would wait for the receives of the next exchange as well.
  void synchronize() {
    mover_->synchronize();
    static_cast<void>(queue_->is_complete());
  }

  std::string transport() const {
    return steering_.neighbours.empty() ? "none" : RequestView(sets_[0]->all()[0]).transport();
  }

 private:
  bool is_ready() const { return options_.sends == Sends::ready; }

  void make(PST_Queue_type type, void* stream) {
    if (stream == nullptr) refuse("a null pointer is not the address of a stream");
    queue_.emplace(type, stream);
    steering_ = make_steering(grid_, options_, shapes_);
    mover_ = make_mover(type, stream, steering_);
    for (int set = 0; set < (is_ready() ? 2 : 1); ++set) {
      sets_.push_back(
          std::make_unique<Messages>(*mover_, steering_, grid_.comm(), options_.sends, set));
    }
  }

  void open_first_receives() {
    together(grid_.comm(), [&] {
      queue_->start(sets_[0]->receives());
      receives_open_ = true;
      mover_->synchronize();
    });
  }

  // All ranks have enqueued the same exchanges: one more, whose contents nobody looks at.
  void complete_open_receives() {
    queue_->start(sets_[next_set_]->sends());
    queue_->wait(sets_[next_set_]->all());
  }

  GridShape grid_;
  Options options_;
  std::vector<Array> shapes_;
  std::optional<Queue> queue_;
  Steering steering_;
  std::unique_ptr<Mover> mover_;
  std::vector<std::unique_ptr<Messages>> sets_;
  std::size_t next_set_ = 0;
  bool receives_open_ = false;
};

void Deleter::operator()(StreamHalo* halo) const noexcept {
  delete halo;
}

std::unique_ptr<StreamHalo, Deleter> make_stream_halo(PST_Queue_type type, void* stream,
                                                      const GridShape& grid, const Options& options,
                                                      std::span<const Array> arrays) {
  return std::unique_ptr<StreamHalo, Deleter>(new StreamHalo(type, stream, grid, options, arrays));
}

void enqueue(StreamHalo& halo, Direction direction, Reduction reduction,
             std::span<const Array> arrays) {
  halo.enqueue(direction, reduction, arrays);
}

void synchronize(StreamHalo& halo) {
  halo.synchronize();
}

std::string transport(const StreamHalo& halo) {
  return halo.transport();
}

}  // namespace penstock::halo::detail
