// SPDX-License-Identifier: Apache-2.0
// One end of a channel over any transport: a cell for each unit. Calls are commands of host
// streams, as many at once as there are streams; each looks at the cells of its own range.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/first_error.hpp"
#include "channel/cell.hpp"
#include "channel/grid.hpp"
#include "device/host/stream.hpp"
#include "transport/plan.hpp"

namespace penstock::channel {

enum class Verb : std::uint8_t { put, put_wait, wait, release };

class CellPlan final : public transport::Plan {
 public:
  CellPlan(const Grid& grid, bool sends);
  ~CellPlan() override;

  bool sends() const noexcept { return sends_; }
  const Grid& grid() const noexcept { return grid_; }
  // At the match: the cells in their order. They are room enough made by the constructor.
  void add(std::unique_ptr<Cell> cell) noexcept { cells_.push_back(std::move(cell)); }
  // Throws Error: the stream is not the host's, or the channel has been given up.
  void check(const device::Stream& stream) const;
  // check() has passed. Throws Error(resources).
  void enqueue(Verb verb, Units units, const std::shared_ptr<device::Stream>& stream,
               transport::Sink& sink);
  // Whether the messages of all these units are here. Never waits. Throws what the channel was
  // given up for.
  bool test(Units units);

  // No queue starts it or waits for it as it does a message.
  void check_stream(const device::Stream& stream) const override;
  void start(device::Stream&, transport::Sink&) override {}
  void wait(device::Stream&, transport::Sink&) override {}
  void hand_over(device::Stream*, device::Stream&) override {}
  void close(device::Stream& stream, void (*ended)(void*), void* argument) override;
  void close() override;
  bool close_behind_own_streams(void (*ended)(void*), void* argument) noexcept override;
  transport::PairState pair_state(transport::Epoch) const noexcept override {
    return transport::PairState::serves;
  }
  std::string path() const override;
  void set_label(std::string label) override;
  // The first put of a unit needs no release: the receives are started.
  void matched() noexcept override;
  std::string describe() const override { return "a channel"; }
  void cancel_wait(const base::Error& error) noexcept override;

 private:
  class Taken;
  struct Call;
  struct UsedStream;

  template <Verb verb>
  static bool step(device::host::Command& command) noexcept;
  static bool close_step(device::host::Command& command) noexcept;
  bool carry_out(Verb verb, Call& call, transport::Sink& sink) noexcept;
  bool advance_all(Verb verb, Call& call, transport::Sink& sink) noexcept;
  bool end_given_up(Verb verb, const Call& call, transport::Sink& sink) noexcept;
  static bool work(Verb verb, Cell& cell) noexcept;
  std::optional<base::Error> misuse(Verb verb, const Call& call) const noexcept;
  void give_up(const base::Error& error) noexcept;
  void note(const std::shared_ptr<device::Stream>& stream);
  bool close_cells() noexcept;

  const Grid grid_;
  const bool sends_;
  std::vector<std::unique_ptr<Cell>> cells_;
  base::FirstError failure_;                    // why no call of it serves any more
  std::atomic<UsedStream*> streams_{nullptr};   // that it has been used on
  std::atomic<std::uint32_t> streams_left_{0};  // that have calls before its close
  void (*ended_)(void*) = nullptr;
  void* argument_ = nullptr;
};

}  // namespace penstock::channel
