// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/lane.hpp"
#include "common/options.hpp"
#include "common/phases.hpp"
#include "common/side_buffers.hpp"

namespace penstock::apps {

// What a program computes in one round around its messages. What takes a lane is called as
// Lane::launch wants it: on the host it computes, on a GPU it launches on the stream that the lane
// says.
class Work {
 public:
  virtual ~Work() = default;

  // In the order of their directions, each at most once.
  virtual const std::vector<Neighbour>& neighbours() const = 0;

  // Whether begin() and end() do something.
  virtual bool has_ends() const { return false; }
  virtual void begin(Lane&) {}
  // For one neighbour, or for all of them at `nowhere`.
  virtual void pack(Lane& lane, const Sides& to, int direction) = 0;
  // Needs no message, and touches nothing that the others touch: it may run beside them, of any
  // round, behind that of the round before.
  virtual bool has_inside() const { return false; }
  virtual void compute_inside(Lane&) {}
  // What needs the messages of one neighbour, or all that needs any at `nowhere`.
  virtual void unpack(Lane& lane, const Sides& from, int direction) = 0;
  // Whether unpacking for `region` needs the message of `direction`.
  virtual bool needs(int region, int direction) const { return region == direction; }
  // Whether unpacking can pack for the next round on the way, as nothing is computed between the
  // two: unpack() and pack() in one. A message of the next round is packed when all that needs the
  // one of its direction is unpacked.
  virtual bool packs_ahead() const { return false; }
  virtual void unpack_and_pack(Lane&, const Sides& /*from*/, const Sides& /*to*/,
                               int /*direction*/) {}
  virtual void end(Lane&) {}
};

// One way to exchange, with buffers and requests of its own.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // What carries the messages.
  virtual std::string transport() const = 0;
  virtual Lane& lane() = 0;
  // What must have happened on all ranks before the clock starts: a barrier follows.
  virtual void prepare(int /*rounds*/) {}
  // Returns when all rounds have ended on the device.
  virtual void run(int rounds) = 0;

  PhaseClock& phases() noexcept { return phases_; }

 protected:
  PhaseClock phases_;
};

// `rounds` is what run() will be asked for; not for datatypes, which are the program's
// (datatype_exchange.hpp). Collective.
std::unique_ptr<Exchange> make_exchange(Comm comm, const Options& options, Work& work, int rounds);

std::unique_ptr<Exchange> make_mpi_exchange(const Options& options, Work& work);
std::unique_ptr<Exchange> make_mpi_waitany_exchange(const Options& options, Work& work);
std::unique_ptr<Exchange> make_mpi_persistent_exchange(const Options& options, Work& work);
// With standard sends, with ready sends, and with standard sends in a graph.
std::unique_ptr<Exchange> make_stream_exchange(const Options& options, Work& work);
std::unique_ptr<Exchange> make_stream_ready_exchange(const Options& options, Work& work);
std::unique_ptr<Exchange> make_graph_exchange(const Options& options, Work& work, int rounds);
// By one-sided epochs: the host's, the stream's, the stream's in batches, and these in a graph.
std::unique_ptr<Exchange> make_mpi_window_exchange(const Options& options, Work& work);
std::unique_ptr<Exchange> make_window_exchange(const Options& options, Work& work);
std::unique_ptr<Exchange> make_window_batch_exchange(const Options& options, Work& work);
std::unique_ptr<Exchange> make_window_graph_exchange(const Options& options, Work& work,
                                                     int rounds);
// The same without a copy: what is packed goes straight into the neighbours' windows.
std::unique_ptr<Exchange> make_zero_copy_exchange(const Options& options, Work& work);
// By messages that MPI matches: all enqueued, and sends alone; and where it need not, since all are
// enqueued at both ends.
std::unique_ptr<Exchange> make_enqueued_exchange(const Options& options, Work& work);
std::unique_ptr<Exchange> make_promised_exchange(const Options& options, Work& work);
std::unique_ptr<Exchange> make_enqueued_sends_exchange(const Options& options, Work& work);
// Everything but the messages.
std::unique_ptr<Exchange> make_mock_exchange(const Options& options, Work& work);

// A message is known by the direction in which it travels, and by the set of buffers that it is
// for.
constexpr int tag_of(int direction, int set) {
  return set * directions + direction;
}

}  // namespace penstock::apps
