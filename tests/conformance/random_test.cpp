// SPDX-License-Identifier: Apache-2.0
// G4, G6 and G8 on random programs (support/random_program.hpp): edges, sizes, kinds of send and of
// memory, lanes, order of starts and waits on each end; on a GPU each end's blocks enqueued or
// launched as graphs, beside work that wants the whole device. Every byte is checked on the stream,
// and what lies around. PENSTOCK_TEST_SEED is the first seed, PENSTOCK_TEST_SEEDS how many programs
// run, each by the next one.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"
#include "support/random_program.hpp"
#include "support/rounds.hpp"

#if PENSTOCK_TEST_CUDA
#include "cuda/graph.hpp"
#include "support/cuda/expect.hpp"
#include "support/cuda/kernels.hpp"
#endif

namespace penstock::test {
namespace {

// ---- What differs between devices --------------------------------------------------------------

#if PENSTOCK_TEST_CUDA
// A point of one stream that another waits for.
class Mark {
 public:
  Mark() { EXPECT_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Mark() { EXPECT_CUDA(cudaEventDestroy(event_)); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  void record(Stream stream) { EXPECT_CUDA(cudaEventRecord(event_, stream)); }
  void await(Stream stream) { EXPECT_CUDA(cudaStreamWaitEvent(stream, event_, 0)); }

 private:
  cudaEvent_t event_ = nullptr;
};

// MPI's own copies may go on during a capture.
std::unique_ptr<Graph> make_graph(Stream stream, const std::function<void()>& enqueue) {
  const auto mode =
      transport_allowed("proxy") ? cudaStreamCaptureModeThreadLocal : cudaStreamCaptureModeGlobal;
  return std::make_unique<Graph>(stream, enqueue, mode);
}

unsigned whole_device() {
  static const unsigned blocks = [] {
    int device = 0, processors = 0;
    EXPECT_CUDA(cudaGetDevice(&device));
    EXPECT_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    return 2 * static_cast<unsigned>(processors);
  }();
  return blocks;
}
void crowd(Stream stream, unsigned microseconds) {
  enqueue_crowd(stream, 4 * whole_device(), microseconds, microseconds);
}
void occupy(Stream stream, unsigned microseconds) {
  enqueue_occupy(stream, whole_device(), microseconds);
}
#else
// The host orders the two.
class Mark {
 public:
  void record(Stream stream) { stream_ = stream; }
  void await(Stream) { synchronize(stream_); }

 private:
  Stream stream_{};
};

// A launch is a call of the function.
class Graph {
 public:
  explicit Graph(std::function<void()> enqueue) : enqueue_(std::move(enqueue)) {}
  void launch() { enqueue_(); }

 private:
  std::function<void()> enqueue_;
};

std::unique_ptr<Graph> make_graph(Stream, const std::function<void()>& enqueue) {
  return std::make_unique<Graph>(enqueue);
}
void crowd(Stream stream, unsigned microseconds) {
  enqueue_delay(stream, microseconds);
}
void occupy(Stream stream, unsigned microseconds) {
  enqueue_delay(stream, microseconds);
}
#endif

// ---- One rank's part ---------------------------------------------------------------------------

// Its ranks are those of MPI_COMM_WORLD, backwards.
class Backwards {
 public:
  Backwards() {
    EXPECT_EQ(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank(), &comm_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), MPI_SUCCESS);
  }
  ~Backwards() { EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS); }
  Backwards(const Backwards&) = delete;
  Backwards& operator=(const Backwards&) = delete;
  MPI_Comm comm() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

class Part {
 public:
  Part(const RandomProgram& program, MPI_Comm backwards)
      : program_(program),
        mine_(program.ranks[static_cast<std::size_t>(rank())]),
        backwards_(backwards),
        ends_(2 * program.edges.size()),
        graphs_(mine_.blocks.size()) {
    for (std::size_t i = 0; i < mine_.lanes; ++i) lanes_.push_back(std::make_unique<Lane>());
    std::vector<MPI_Request*> requests;
    for (std::size_t half = 0; half < ends_.size(); ++half) {
      const RandomEdge& edge = program.edges[edge_of(half)];
      if (rank() != (receives(half) ? edge.destination : edge.source)) continue;
      make_end(half, edge);
      requests.push_back(&ends_[half].request());
    }
    match_all(requests);
    capture_some();
  }
  // Requests are destroyed last.
  ~Part() {
    graphs_.clear();
    lanes_.clear();
    free_stream(beside_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  void run() {
    for (const RandomStep& step : mine_.steps) {
      run(step);
      if (::testing::Test::HasFailure()) return;
    }
  }

  void finish() {
    for (std::size_t i = 0; i < mine_.lanes; ++i) {
      SCOPED_TRACE("lane " + std::to_string(i));
      lanes_[i]->finish();
    }
    synchronize(beside_);
    check_senders();
    for (std::size_t half = 0; half < ends_.size(); ++half) expect_good(half);
  }

  void free_requests() {
    for (End& end : ends_) {
      if (end.sender) end.sender->free();
      if (end.receiver) end.receiver->free();
    }
  }

 private:
  struct End {
    std::unique_ptr<Sender> sender;
    std::unique_ptr<Receiver> receiver;
    std::unique_ptr<Mark> mark;  // behind what the last wait has let go
    std::size_t lane = RandomStep::beside;
    MPI_Request& request() { return sender ? sender->request() : receiver->request(); }
  };

  std::uint64_t key(std::size_t edge) const {
    return (program_.seed + 1) * 0xD6E8FEB86659FD93u + edge;
  }

  void make_end(std::size_t half, const RandomEdge& edge) {
    End& end = ends_[half];
    const MPI_Comm comm = edge.backwards ? backwards_ : MPI_COMM_WORLD;
    const auto peer = [&](int of) { return edge.backwards ? size() - 1 - of : of; };
    if (receives(half)) {
      end.receiver = std::make_unique<Receiver>(edge.bytes, edge.to, key(edge_of(half)),
                                                edge.to_shift, edge.extra);
      end.receiver->init(peer(edge.source), edge.tag, comm);
      lanes_[0]->launch(Receiver::clear, end.receiver.get());
      lanes_[0]->synchronize();
    } else {
      end.sender =
          std::make_unique<Sender>(edge.bytes, edge.from, key(edge_of(half)), edge.from_shift);
      end.sender->init(edge.kind, peer(edge.destination), edge.tag, comm);
    }
    end.mark = std::make_unique<Mark>();
  }

  // Others are captured where they are launched first.
  void capture_some() {
    for (std::size_t block = 0; block < graphs_.size(); block += 3)
      if (mine_.blocks[block].closed) capture(block);
  }
  void capture(std::size_t block) {
    graphs_[block] =
        make_graph(lanes_[mine_.blocks[block].lane]->stream(), [this, block] { enqueue(block); });
  }

  void run(const RandomStep& step) {
    using Verb = RandomStep::Verb;
    const Stream stream = step.lane == RandomStep::beside ? beside_ : lanes_[step.lane]->stream();
    switch (step.verb) {
      case Verb::enqueue:
        return in_order(step.block, [&] { enqueue(step.block); });
      case Verb::launch:
        return in_order(step.block, [&] { launch(step.block); });
      case Verb::finish:
        return lanes_[step.lane]->finish();
      case Verb::synchronize:
        return synchronize(stream);
      case Verb::delay:
        return enqueue_delay(stream, step.microseconds);
      case Verb::crowd:
        return crowd(stream, step.microseconds);
      case Verb::occupy:
        return occupy(stream, step.microseconds);
    }
  }

  // What the block writes into buffers comes after what was done there on other lanes, as the
  // program must see to.
  template <class Body>
  void in_order(std::size_t number, Body body) {
    const RandomBlock& block = mine_.blocks[number];
    Lane& lane = *lanes_[block.lane];
    each_half(block, true, [&](End& end) {
      if (end.lane != block.lane && end.lane != RandomStep::beside) end.mark->await(lane.stream());
      end.lane = block.lane;
    });
    body();
    each_half(block, false, [&](End& end) { end.mark->record(lane.stream()); });
  }
  template <class Visit>
  void each_half(const RandomBlock& block, bool starts, Visit visit) {
    for (const RandomCall& call : block.calls)
      if (call.starts == starts)
        for (const std::size_t half : call.halves) visit(ends_[half]);
  }

  void launch(std::size_t block) {
    if (!graphs_[block]) capture(block);
    graphs_[block]->launch();
  }

  void enqueue(std::size_t number) {
    const RandomBlock& block = mine_.blocks[number];
    for (const RandomCall& call : block.calls) enqueue(*lanes_[block.lane], call);
  }
  void enqueue(Lane& lane, const RandomCall& call) {
    std::vector<MPI_Request> requests;
    for (const std::size_t half : call.halves) requests.push_back(ends_[half].request());
    const int count = static_cast<int>(requests.size());
    if (call.starts) {
      for (const std::size_t half : call.halves) prepare(lane, ends_[half]);
      EXPECT_PST(PST_Enqueue_startall(lane.queue(), count, requests.data()));
    } else {
      EXPECT_PST(PST_Enqueue_waitall(lane.queue(), count, requests.data()));
      for (const std::size_t half : call.halves) conclude(lane, ends_[half]);
    }
  }
  void prepare(Lane& lane, End& end) {
    if (end.sender)
      lane.launch(Sender::fill, end.sender.get());
    else
      lane.launch(Receiver::check_clear, end.receiver.get());
  }
  void conclude(Lane& lane, End& end) {
    if (end.sender) return lane.launch(Sender::scribble, end.sender.get());
    lane.launch(Receiver::check, end.receiver.get());
    lane.launch(Receiver::clear, end.receiver.get());
  }

  void check_senders() {
    for (End& end : ends_)
      if (end.sender) lanes_[0]->launch(Sender::check_guards, end.sender.get());
    lanes_[0]->synchronize();
  }
  void expect_good(std::size_t half) {
    const RandomEdge& edge = program_.edges[edge_of(half)];
    SCOPED_TRACE("edge " + std::to_string(edge_of(half)) + " " + text(edge));
    if (ends_[half].sender) ends_[half].sender->expect_good(edge.epochs);
    if (ends_[half].receiver) ends_[half].receiver->expect_good(edge.epochs);
  }

  const RandomProgram& program_;
  const RandomRank& mine_;
  MPI_Comm backwards_;
  std::vector<End> ends_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  Stream beside_ = make_stream();
  std::vector<std::unique_ptr<Graph>> graphs_;
};

std::uint64_t programs() {
  const char* text = std::getenv("PENSTOCK_TEST_SEEDS");
  if (text != nullptr) return std::strtoull(text, nullptr, 10);
  return long_run() ? 200 : fewer_rounds(4, 2);
}

void run_seed(std::uint64_t seed, MPI_Comm backwards) {
  const RandomProgram program = make_random_program(seed, size());
  SCOPED_TRACE(text(program));
  if (rank() == 0) {
    std::printf("%s\n", text(program).c_str());
    std::fflush(stdout);
  }
  Part part(program, backwards);
  part.run();
  part.finish();
  if (::testing::Test::HasFailure()) return;
  if (program.parts_early)
    part.free_requests();
  else
    meet();
}

TEST(Random, G4_G6_G8_ProgramsThatEndAsCallsOfMpi) {
  const Backwards backwards;
  for (std::uint64_t i = 0; i < programs(); ++i) {
    run_seed(seed() + i, backwards.comm());
    if (HasFailure()) return;
    meet();  // so that the last line printed names the program of every rank
  }
}

}  // namespace
}  // namespace penstock::test
