// SPDX-License-Identifier: Apache-2.0
// The same trips by puts: by Penstock's windows on a stream, or by MPI's own (mpi_epochs.hpp).
#pragma once

#include <penstock/window.hpp>
#include <string>
#include <vector>

#include "exchange.hpp"

namespace penstock::bench {

// A window over the memory that messages come to, and where each goes at its receiver.
class WindowEnds {
 public:
  // Collective; the window is `make`'s.
  template <class Make>
  WindowEnds(const Exchange& exchange, std::span<std::byte> incoming, int tag, Make&& make)
      : sent_(exchange.sent()), places_(sent_.size()) {
    find_places(exchange, incoming, tag);
    make(incoming, &window_);
  }
  ~WindowEnds();
  WindowEnds(const WindowEnds&) = delete;
  WindowEnds& operator=(const WindowEnds&) = delete;

  MPI_Win window() const { return window_; }
  MPI_Group origins() const { return origins_; }
  MPI_Group targets() const { return targets_; }
  int first_target() const { return sent_.front().part.peer; }
  void put_all() const {
    for (std::size_t i = 0; i < sent_.size(); ++i)
      MPI_Put(sent_[i].bytes.data(), static_cast<int>(sent_[i].bytes.size()), MPI_BYTE,
              sent_[i].part.peer, places_[i], static_cast<int>(sent_[i].bytes.size()), MPI_BYTE,
              window_);
  }

 private:
  void find_places(const Exchange& exchange, std::span<std::byte> incoming, int tag);

  const std::span<const Message> sent_;
  std::vector<MPI_Aint> places_;
  MPI_Group origins_ = MPI_GROUP_NULL, targets_ = MPI_GROUP_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
};

// Epochs as work of a stream.
class StreamEpochs {
 public:
  static constexpr bool on_stream = true;
  explicit StreamEpochs(QueueView queue) : queue_(queue) {}
  static void make(std::span<std::byte> incoming, MPI_Win* window);
  template <class Calls>
  void in_batch(Calls&& calls) const {
    Batch batch(queue_);
    calls();
    batch.end();
  }
  void post(const WindowEnds& ends) const;
  void complete(const WindowEnds& ends) const;
  void wait(const WindowEnds& ends) const;

 private:
  QueueView queue_;
};

// `ahead`: the next exposure is posted before the message that lets the peer put, so that a trip is
// one batch of post, complete and wait.
template <class Epochs>
class WindowExchange final : public LibraryExchange<WindowExchange<Epochs>> {
  using Base = LibraryExchange<WindowExchange<Epochs>>;

 public:
  template <class... More>
  WindowExchange(const Traffic& traffic, const MemorySource& source, bool ahead, int tag,
                 More&&... more)
      : Base(traffic, source),
        epochs_(std::forward<More>(more)...),
        ends_(*this, this->incoming().all(), tag, &Epochs::make),
        ahead_(ahead && traffic.shape == Traffic::Shape::ping_pong) {}

  bool on_stream() const override { return Epochs::on_stream; }
  void trip(bool first, bool last) {
    if (!ahead_) return Base::trip(first, last);
    if (this->traffic().leads) {
      this->prepare();
      epochs_.in_batch([&] {
        post();
        complete();
        wait();
      });
      return this->use();
    }
    if (first) {
      post();
      wait();
    }
    this->use();
    this->prepare();
    epochs_.in_batch([&] {
      if (!last) post();
      complete();
      if (!last) wait();
    });
  }
  void move(bool sending, bool receiving) {
    if (receiving) post();
    if (sending) complete();
    if (receiving) wait();
  }

 private:
  void post() {
    this->timed("post", [&] { epochs_.post(ends_); });
  }
  void complete() {
    this->timed("start, put, complete", [&] { epochs_.complete(ends_); });
  }
  void wait() {
    this->timed("wait", [&] { epochs_.wait(ends_); });
  }

  const Epochs epochs_;
  const WindowEnds ends_;
  const bool ahead_;
};

}  // namespace penstock::bench
