// SPDX-License-Identifier: Apache-2.0
#include "protocol/threads/pair.hpp"

#include <algorithm>
#include <stdexcept>

namespace penstock::threads {

namespace {

constexpr std::byte untouched{0xdd};
constexpr std::byte overwritten{0xee};

template <class Port, Path path, Mode mode>
class PairOver final : public Pair {
 public:
  PairOver(const PairSpec& spec, const Form& form)
      : Pair(spec, form), sender_(setup(Side::sender)), receiver_(setup(Side::receiver)) {}

  bool settle_send() override {
    if constexpr (path == Path::ring)
      return ended(protocol::ring::settle_send<mode>(sender_, send_));
    return true;
  }
  protocol::StartOutcome start_send() override {
    if constexpr (path == Path::ring)
      return protocol::ring::start_send<mode>(sender_, send_);
    else
      return protocol::rendezvous::start_send<mode>(sender_, send_);
  }
  bool wait_send() override {
    if constexpr (path == Path::ring)
      return ended(protocol::ring::wait_send<mode>(sender_, send_));
    else
      return ended(protocol::rendezvous::wait_send<mode>(sender_, send_));
  }
  void start_receive() override {
    if constexpr (path == Path::ring)
      protocol::ring::start_receive<mode>(receiver_, receive_);
    else
      protocol::rendezvous::start_receive<mode>(receiver_, receive_);
  }
  bool wait_receive() override {
    if constexpr (path == Path::ring)
      return ended(protocol::ring::wait_receive(receiver_, receive_));
    else
      return ended(protocol::rendezvous::wait_receive<mode>(receiver_, receive_));
  }
  Epoch epoch(Side side) const override {
    constexpr bool has_wait =
        path != Path::ring || protocol::ring::send_has_wait(mode, protocol::Deferred<Port>);
    return side == Side::sender ? protocol::ring::next_epoch(send_, has_wait) : receive_.done + 1;
  }
  void renew(Side side) override {
    if (side == Side::sender)
      send_ = {};
    else
      receive_ = {};
  }

  bool peer_closed(Side side) override {
    if (side == Side::sender)
      return protocol::closing::peer_closed<Side::sender>(sender_, epoch(side));
    return protocol::closing::peer_closed<Side::receiver>(receiver_, epoch(side));
  }
  bool ends_untouched() const override { return protocol::EndsUntouched<Port>; }
  bool is_untouched() override {
    if constexpr (protocol::EndsUntouched<Port>)
      return protocol::rendezvous::is_untouched(receiver_, receive_);
    else
      return false;
  }
  void give_up(Side side) override {
    if (side == Side::sender)
      give_up_end<Side::sender>(sender_);
    else
      give_up_end<Side::receiver>(receiver_);
  }

 private:
  template <Side side>
  void give_up_end(Port& port) {
    if constexpr (path == Path::ring)
      protocol::closing::close<side>(port, epoch(side));
    else if constexpr (side == Side::receiver && protocol::EndsUntouched<Port>)
      protocol::rendezvous::give_up_receive(port, receive_);
    else
      protocol::rendezvous::poison<mode, side>(port, epoch(side));
  }
  static bool ended(protocol::Progress progress) { return progress == protocol::Progress::ended; }

  Port sender_, receiver_;
  protocol::SendState send_;
  protocol::ReceiveState receive_;
};

template <class Port, Path path>
std::unique_ptr<Pair> make_for_mode(const PairSpec& spec, const Form& form) {
  switch (spec.mode) {
    case Mode::standard:
      return std::make_unique<PairOver<Port, path, Mode::standard>>(spec, form);
    case Mode::synchronous:
      return std::make_unique<PairOver<Port, path, Mode::synchronous>>(spec, form);
    case Mode::ready:
      return std::make_unique<PairOver<Port, path, Mode::ready>>(spec, form);
    case Mode::buffered:
      break;
  }
  if constexpr (path == Path::ring && !protocol::Deferred<Port>)
    return std::make_unique<PairOver<Port, path, Mode::buffered>>(spec, form);
  throw std::logic_error("buffered sends have rings that never hold them up");
}

}  // namespace

UserBuffer::UserBuffer(const Form& form, std::size_t run, std::size_t stride, std::byte content)
    : run_(form.gaps ? run : form.bytes), stride_(form.gaps ? stride : form.bytes) {
  const std::size_t runs = run_ == 0 ? 0 : (form.bytes + run_ - 1) / run_;
  memory.assign(runs * stride_, content);
  segment_ = {.offset = 0,
              .bytes = run_,
              .count = runs,
              .stride = static_cast<std::int64_t>(stride_),
              .position = 0};
}

bool UserBuffer::gaps_are(std::byte content) const {
  for (std::size_t i = 0; i < memory.size(); ++i)
    if (i % stride_ >= run_ && memory[i] != content) return false;
  return true;
}

datatype::SegmentView UserBuffer::view() const {
  if (run_ == stride_) return {};
  return {&segment_, 1, segment_.bytes * segment_.count, 0};
}

Pair::Pair(const PairSpec& spec, const Form& form)
    : spec_(spec),
      cut_{form.bytes, form.line_bytes, spec.slots, peer::Parts::best_count(form.bytes, true)},
      sender_block_(new peer::SenderBlock{}),
      receiver_block_(new peer::ReceiverBlock{}),
      line_storage_(cut_.ring_bytes() + form.line_bytes),
      outgoing_(form, 24, 40, overwritten),
      incoming_(form, 16, 56, untouched) {
  void* at = line_storage_.data();
  std::size_t room = line_storage_.size();
  lines_ = static_cast<std::byte*>(std::align(form.line_bytes, cut_.ring_bytes(), at, room));
}

peer::PortSetup Pair::setup(Side side) {
  UserBuffer& own = side == Side::sender ? outgoing_ : incoming_;
  UserBuffer& other = side == Side::sender ? incoming_ : outgoing_;
  peer::PortSetup setup;
  setup.sender = sender_block_.get();
  setup.receiver = receiver_block_.get();
  setup.lines = lines_;
  setup.buffer = own.memory.data();
  setup.segments = own.view();
  setup.cut = cut_;
  setup.other.address = reinterpret_cast<std::uint64_t>(other.memory.data());
  setup.other_segments = other.view();
  setup.checks_ready = spec_.checks_ready;
  return setup;
}

std::byte Pair::pattern(Epoch epoch, std::size_t at) const {
  return static_cast<std::byte>((epoch * 31 + at * 7) % 211);
}

void Pair::fill_send_buffer() {
  for (std::size_t i = 0; i < cut_.message_bytes; ++i)
    outgoing_.byte(i) = pattern(epoch(Side::sender), i);
}

void Pair::overwrite_send_buffer() {
  std::fill(outgoing_.memory.begin(), outgoing_.memory.end(), overwritten);
}

bool Pair::receive_buffer_untouched() const {
  return std::all_of(incoming_.memory.begin(), incoming_.memory.end(),
                     [](std::byte byte) { return byte == untouched; });
}

bool Pair::holds(Epoch epoch) const {
  for (std::size_t i = 0; i < cut_.message_bytes; ++i)
    if (incoming_.byte(i) != pattern(epoch, i)) return false;
  return incoming_.gaps_are(untouched);
}

void Pair::clear_receive_buffer() {
  std::fill(incoming_.memory.begin(), incoming_.memory.end(), untouched);
}

void Pair::zero() {
  *sender_block_ = {};
  *receiver_block_ = {};
  std::fill(line_storage_.begin(), line_storage_.end(), std::byte{0});
}

std::unique_ptr<Pair> make_pair(const PairSpec& spec, const Form& form) {
  if (spec.deferred && form.line_bytes == 64)
    return make_for_mode<DeferredPort<64>, Path::ring>(spec, form);
  if (spec.deferred) return make_for_mode<DeferredPort<256>, Path::ring>(spec, form);
  if (spec.path == Path::ring) {
    if (form.line_bytes == 64) return make_for_mode<peer::HostPort<64>, Path::ring>(spec, form);
    if (form.line_bytes == 256) return make_for_mode<peer::HostPort<256>, Path::ring>(spec, form);
    throw std::logic_error("lines of 64 or 256 bytes");
  }
  if (spec.claim == ClaimBy::flags)
    return make_for_mode<FlagClaimPort<64>, Path::rendezvous>(spec, form);
  return make_for_mode<peer::RendezvousPort, Path::rendezvous>(spec, form);
}

}  // namespace penstock::threads
