// SPDX-License-Identifier: Apache-2.0
// What both ends of a bag have in common: calls of several queues at once, the first failure, which
// gives the end up, and an end behind all streams that it was used on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/first_error.hpp"
#include "channel/bag_user.hpp"
#include "channel/bag_words.hpp"

namespace penstock::channel {

class BagHalf : public ManyStreamPlan {
 public:
  // Throws Error: the stream is not the host's, or the bag has been given up.
  void check(const device::Stream& stream) const;
  // What a wait of it waits for.
  virtual std::string missing() const = 0;

  void check_stream(const device::Stream& stream) const override;
  std::string describe() const override { return missing(); }
  void cancel_wait(const base::Error& error) noexcept override { give_up(error); }

 protected:
  // Pushes a command of the queue whose object is its user.
  void push(device::host::Step step, void* context, std::uint64_t value,
            const std::shared_ptr<device::Stream>& stream, transport::Sink& queue);
  static BagUser& user_of(const device::host::Command& command) noexcept {
    return *static_cast<BagUser*>(command.object);
  }
  // A step of a wait: look() is true where it has come to its end. True: the wait has ended, well
  // or by a failure that its queue has.
  template <class Look>
  bool wait_step(BagUser& user, Look&& look) noexcept {
    if (user.begins() && user.queue().failed()) give_up(*user.queue().error());
    if (!failure() && look()) {
      user.end();
      return true;
    }
    return ends_by_failure(user) || (user.found_nothing() && ends_hopeless(user, look));
  }
  const base::Error* failure() const noexcept { return failure_.get(); }
  void give_up(const base::Error& error) noexcept;

  // Why no wait can end any more, as far as can be seen; asked now and then.
  virtual std::optional<base::Error> hopeless() const = 0;
  // Stores CLOSED at the other ends, `given_up` or `gone`, and a fence behind it.
  virtual void tell(std::uint64_t closed) noexcept = 0;

  bool close_now() noexcept override {
    tell(gone);
    return true;
  }

 private:
  bool ends_by_failure(BagUser& user) noexcept;
  // What the wait is for may have come just before its sender went: it is looked for once more.
  template <class Look>
  bool ends_hopeless(BagUser& user, Look&& look) noexcept {
    const std::optional<base::Error> why = say_why_hopeless();
    if (!why) return false;
    if (!look()) {
      give_up(*why);
      return ends_by_failure(user);
    }
    user.end();
    return true;
  }
  std::optional<base::Error> say_why_hopeless() const noexcept;

  base::FirstError failure_;
};

}  // namespace penstock::channel
