// SPDX-License-Identifier: Apache-2.0
// A matched pair whose two ends are threads of this process, over the host port that the peer
// transport ships. A race detector sees one process only, so this is the form in which the protocol
// can be shown to it.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "peer/rendezvous_ends.hpp"
#include "protocol/explorer/pair.hpp"
#include "protocol/rendezvous.hpp"
#include "protocol/ring.hpp"

namespace penstock::threads {

using explorer::ClaimBy;
using explorer::PairSpec;
using explorer::Path;
using explorer::Side;
using protocol::Epoch;
using protocol::Mode;
namespace peer = peer;

// The shipped port claims by exchange; this one makes the state machines claim by flags.
template <std::size_t line_bytes>
struct FlagClaimPort : peer::HostPort<line_bytes> {
  static constexpr bool native_atomics = false;
  using peer::HostPort<line_bytes>::HostPort;
};

// The shipped port's rings see to everything in the wait itself; this one makes them do as kernels
// do.
template <std::size_t line_bytes>
struct DeferredPort : peer::HostPort<line_bytes> {
  static constexpr bool deferred = true;
  using peer::HostPort<line_bytes>::HostPort;
};

// How the messages of a pair are made.
struct Form {
  std::size_t bytes = 200;
  std::uint32_t line_bytes = 64;  // of a ring: 64 or 256
  bool gaps = false;              // in both buffers, other ones at each end
};

// The user's own, a run every so many bytes.
class UserBuffer {
 public:
  UserBuffer(const Form& form, std::size_t run, std::size_t stride, std::byte content);
  std::byte& byte(std::size_t position) {
    return memory[run_ == 0 ? 0 : position / run_ * stride_ + position % run_];
  }
  std::byte byte(std::size_t position) const {
    return const_cast<UserBuffer&>(*this).byte(position);
  }
  bool gaps_are(std::byte content) const;
  datatype::SegmentView view() const;

  std::vector<std::byte> memory;

 private:
  std::size_t run_, stride_;
  datatype::Segment segment_;
};

class Pair {
 public:
  Pair(const PairSpec& spec, const Form& form);
  virtual ~Pair() = default;
  Pair(const Pair&) = delete;

  virtual bool settle_send() = 0;  // one poll; true when the start may follow
  virtual protocol::StartOutcome start_send() = 0;
  virtual bool wait_send() = 0;  // one poll; true when the wait has ended
  virtual void start_receive() = 0;
  virtual bool wait_receive() = 0;
  virtual Epoch epoch(Side side) const = 0;  // of the next start, or of the one not waited for yet
  virtual void renew(Side side) = 0;         // that end begins again at epoch 1
  virtual bool peer_closed(Side side) = 0;   // the other end serves this end's epoch no more
  virtual void give_up(Side side) = 0;
  // Of the receive buffer, behind that, where the kind waits for its sender's copies.
  virtual bool ends_untouched() const = 0;
  virtual bool is_untouched() = 0;

  // The user's own use of the buffers, as early as MPI allows it.
  void fill_send_buffer();
  void overwrite_send_buffer();
  bool receive_buffer_untouched() const;
  // Of the epoch that has just ended.
  bool message_arrived() const { return holds(epoch(Side::receiver) - 1); }
  // The receive buffer, its message.
  bool holds(Epoch epoch) const;
  void clear_receive_buffer();

  void zero();  // all words and slots, when both sides have said that they are done
  const PairSpec& spec() const { return spec_; }

 protected:
  peer::PortSetup setup(Side side);

 private:
  std::byte pattern(Epoch epoch, std::size_t at) const;

  PairSpec spec_;
  peer::Cut cut_;
  std::unique_ptr<peer::SenderBlock> sender_block_;
  std::unique_ptr<peer::ReceiverBlock> receiver_block_;
  std::vector<std::byte> line_storage_;
  std::byte* lines_;  // aligned
  UserBuffer outgoing_, incoming_;
};

std::unique_ptr<Pair> make_pair(const PairSpec& spec, const Form& form);

}  // namespace penstock::threads
