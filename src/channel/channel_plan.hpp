// SPDX-License-Identifier: Apache-2.0
// One end of a matched channel, whatever its units are made of. Calls are commands of host streams,
// as many at once as there are streams; each looks at the units of its own range.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/first_error.hpp"
#include "channel/grid.hpp"
#include "channel/lasting_wait.hpp"
#include "channel/many_stream_plan.hpp"

namespace penstock::channel {

enum class Verb : std::uint8_t { put, put_wait, wait, release };

// What breaks the order of the verbs, behind the unit that it is told of.
inline constexpr char put_over_put[] = " was put before, and has no PST_Channel_put_wait since";
inline constexpr char wait_over_wait[] =
    " was waited for before, and has no PST_Channel_release since";
inline constexpr char release_of_nothing[] = " was not waited for, and cannot be released";

class ChannelPlan : public ManyStreamPlan {
 public:
  ChannelPlan(const Grid& grid, bool sends) noexcept : grid_(grid), sends_(sends) {}

  bool sends() const noexcept { return sends_; }
  const Grid& grid() const noexcept { return grid_; }
  // Throws Error: the stream is not the host's, or the channel has been given up.
  void check(const device::Stream& stream) const;
  // check() has passed. Throws Error(resources).
  void enqueue(Verb verb, UnitRange units, const std::shared_ptr<device::Stream>& stream,
               transport::Sink& sink);
  // Whether the messages of all these units are here. Never waits. Throws what the channel was
  // given up for.
  virtual bool test(UnitRange units) = 0;
  // What is missing of a unit that a call waits for. Any thread.
  virtual std::string describe_unit(std::uint32_t) const { return describe(); }

  void check_stream(const device::Stream& stream) const override;
  std::string describe() const override { return "a channel"; }

 protected:
  // What a command is for, in its one number: it goes on from here when it is called again.
  struct Call {
    UnitRange units;
    bool begun = false;

    static Call from(std::uint64_t value) noexcept;
    std::uint64_t value() const noexcept;
  };

  // Why no call of it serves any more, or null.
  const base::Error* failure() const noexcept { return failure_.get(); }
  std::string text(std::uint32_t unit) const { return grid_.text(unit) + " of " + label(); }
  void give_up(const base::Error& error) noexcept;
  // By a sender that is freed: so many units, the first of which is named, were put and left to a
  // put_wait that has not come.
  void tell_of_left(std::uint32_t units, std::uint32_t first) const noexcept;

  // By what the stream finds when it gets here.
  virtual std::optional<base::Error> misuse(Verb verb, const Call& call) const noexcept = 0;
  // A look at each unit of the call. True: the call has ended. Never waits.
  virtual bool advance_all(Verb verb, Call& call, LastingWait& wait,
                           transport::Sink& sink) noexcept = 0;
  // All units are one channel: the other end hears of it. May come more than once, from any thread.
  virtual void tell_given_up() noexcept = 0;
  // Behind that: whether nothing moves the memory of a wait's or put_wait's units any more.
  virtual bool untouched(const Call& call) noexcept = 0;

 private:
  struct Caller;

  template <Verb verb>
  static bool step(device::host::Command& command) noexcept;
  bool carry_out(Verb verb, Call& call, LastingWait& wait, transport::Sink& sink) noexcept;
  bool end_given_up(Verb verb, const Call& call, transport::Sink& sink) noexcept;

  const Grid grid_;
  const bool sends_;
  base::FirstError failure_;
};

}  // namespace penstock::channel
