// SPDX-License-Identifier: Apache-2.0
// One end of a channel between processes that share memory: each unit has words of its own, so that
// a call looks at those of its range and nothing else (protocol/segment.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "channel/channel_plan.hpp"
#include "peer/unit_port.hpp"
#include "peer/units.hpp"

namespace penstock::channel {

class WordPlan final : public ChannelPlan {
 public:
  // Throws std::bad_alloc.
  WordPlan(const Grid& grid, bool sends, std::unique_ptr<peer::Units> units);

  peer::Units& units() noexcept { return *units_; }

  bool test(UnitRange units) override;
  std::string path() const override;
  std::string describe_unit(std::uint32_t unit) const override;
  void cancel_wait(const base::Error& error) noexcept override { give_up(error); }

 private:
  using Port = peer::UnitPort;

  // What the ends keep of a unit for themselves. Calls use them in stream order; reports and
  // PST_Channel_test look at them at any time.
  struct PutUnit {
    std::atomic<protocol::Epoch> put{0}, sent{0};
    std::atomic<protocol::Epoch> waited{0};  // by put_wait
  };
  struct TakeUnit {
    std::atomic<protocol::Epoch> taken{0}, released{0};
  };

  std::optional<base::Error> misuse(Verb verb, const Call& call) const noexcept override;
  bool advance_all(Verb verb, Call& call, LastingWait& wait,
                   transport::Sink& sink) noexcept override;
  void tell_given_up() noexcept override;
  bool untouched(const Call& call) noexcept override;
  bool close_now() noexcept override;

  // Each: true if nothing is left of it. What it cannot do for ever is in `failure`.
  using Failure = std::optional<base::Error>;
  bool put(const UnitRange& units, Failure& failure) noexcept;
  bool put_wait(UnitRange& units, Failure& failure) noexcept;
  bool take(UnitRange& units) noexcept;
  bool release(const UnitRange& units) noexcept;
  bool look(Verb verb, UnitRange& units, Failure& failure) noexcept;
  void tell_of_left() const noexcept;
  Failure why_hopeless(std::uint32_t unit) const noexcept;
  base::Error error_of(std::uint32_t unit, const base::Error& why) const noexcept;
  Port port() const noexcept { return Port(units_->setup()); }

  std::unique_ptr<peer::Units> units_;
  std::vector<PutUnit> puts_;    // of a sender
  std::vector<TakeUnit> takes_;  // of a receiver
  std::atomic_flag asks_;
  bool closed_ = false;
};

}  // namespace penstock::channel
