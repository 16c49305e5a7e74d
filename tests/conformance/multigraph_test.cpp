// SPDX-License-Identifier: Apache-2.0
// G4 and G6 on random graphs: random sizes, kinds of send and memory, repeated (source, tag,
// destination), self edges, ranks without edges; many epochs back to back without a wait of the
// host; every byte is checked on the stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

struct Edge {
  int source, destination, tag, number;
  Kind kind;
  std::size_t bytes, extra, shift;
  Memory from, to;
  int token_tag;  // a ready or buffered send goes only after a token from its receiver; -1: none
};

bool guarded(const Edge& edge) {
  return edge.token_tag >= 0;
}

std::size_t random_size(std::mt19937_64& random, std::size_t largest) {
  switch (random() % 8) {
    case 0:
      return 0;
    case 1:
      return eager_max() + random() % 3;
    default: {
      // Uniform in the logarithm.
      std::size_t size = 1;
      while (size < largest && random() % 6 != 0) size *= 2;
      return std::min(largest, size + random() % size);
    }
  }
}

// The same graph on every rank.
std::vector<Edge> make_graph(std::uint64_t salt) {
  auto random = generator(salt);
  const int idle =
      size() > 1 && salt % 2 == 1 ? static_cast<int>(random() % static_cast<unsigned>(size())) : -1;
  const auto some_rank = [&] {
    int chosen = idle;
    while (chosen == idle) chosen = static_cast<int>(random() % static_cast<unsigned>(size()));
    return chosen;
  };
  std::vector<Edge> edges;
  std::size_t budget = 5u << 20;  // bytes an epoch
  const int count = 14 + static_cast<int>(random() % 10);
  for (int i = 0; i < count; ++i) {
    Edge edge{};
    edge.number = i;
    edge.source = some_rank();
    edge.destination = some_rank();
    edge.tag = static_cast<int>(random() % 3);
    edge.kind = static_cast<Kind>(random() % 4);
    if (!served(edge.kind)) edge.kind = Kind::standard;
    edge.bytes = std::min(budget, i == 0 ? std::size_t{4} << 20 : random_size(random, 1u << 20));
    budget -= edge.bytes;
    edge.extra = random() % 2 == 0 ? 0 : random() % 300;
    edge.shift = random() % 3 == 0 ? random() % 16 : 0;
    edge.from = static_cast<Memory>(random() % 2);
    edge.to = static_cast<Memory>(random() % 2);
    edge.token_tag = edge.kind == Kind::ready || edge.kind == Kind::buffered ? 1000 + i : -1;
    edges.push_back(edge);
  }
  return edges;
}

struct Out {
  const Edge* edge;
  std::unique_ptr<Sender> message;
  std::unique_ptr<Receiver> token;
  Lane* lane;
};

struct In {
  const Edge* edge;
  std::unique_ptr<Receiver> message;
  std::unique_ptr<Sender> token;
  Lane* lane;
};

class MessageGraph {
 public:
  explicit MessageGraph(std::uint64_t salt)
      : edges_(make_graph(salt)), random_(generator(salt + 1000 + static_cast<unsigned>(rank()))) {
    for (const Edge& edge : edges_) {
      const std::uint64_t key = sequence_key(edge.source, edge.destination, edge.number);
      if (edge.source == rank()) add_out(edge, key);
      if (edge.destination == rank()) add_in(edge, key);
    }
    match();
  }

  // Receives, tokens, sends; then for guarded sends the token first; then all waits. Any order
  // within a group is right, and it is another one in each epoch and on each rank.
  void enqueue_epoch() {
    shuffle(in_);
    shuffle(out_);
    for (In& in : in_) in.message->enqueue_start(*in.lane);
    for (In& in : in_) {
      if (in.token) in.token->enqueue_start(*in.lane);
    }
    for (Out& out : out_) {
      if (out.token) out.token->enqueue_start(*out.lane);
      if (!out.token) out.message->enqueue_start(*out.lane);
    }
    for (Out& out : out_) {
      if (!out.token) continue;
      out.token->enqueue_wait(*out.lane);
      out.message->enqueue_start(*out.lane);
    }
    if (random_() % 2 == 0) {
      wait_one_by_one();
    } else {
      wait_for_all();
    }
  }

  void finish(std::uint64_t epochs) {
    for (Lane& lane : lanes_) lane.finish();
    for (In& in : in_) {
      SCOPED_TRACE("edge " + std::to_string(in.edge->number) + ", " + name(in.edge->kind) + ", " +
                   std::to_string(in.edge->bytes) + " B from rank " +
                   std::to_string(in.edge->source));
      in.message->expect_good(epochs);
    }
  }

 private:
  Lane& some_lane() { return lanes_[random_() % 2]; }

  void add_out(const Edge& edge, std::uint64_t key) {
    Out out{&edge, std::make_unique<Sender>(edge.bytes, edge.from, key, edge.shift), nullptr,
            &some_lane()};
    out.message->init(edge.kind, edge.destination, edge.tag);
    if (guarded(edge)) {
      out.token = std::make_unique<Receiver>(1, Memory::ordinary, key + 1);
      out.token->init(edge.destination, edge.token_tag);
    }
    out_.push_back(std::move(out));
  }

  void add_in(const Edge& edge, std::uint64_t key) {
    In in{&edge, std::make_unique<Receiver>(edge.bytes, edge.to, key, edge.shift / 2, edge.extra),
          nullptr, &some_lane()};
    in.message->init(edge.source, edge.tag);
    if (guarded(edge)) {
      in.token = std::make_unique<Sender>(1, Memory::ordinary, key + 1);
      in.token->init(Kind::standard, edge.source, edge.token_tag);
    }
    in_.push_back(std::move(in));
  }

  // Hands the requests over in random order, but those of equal peer and tag in the order of the
  // graph, which pairs them.
  void match() {
    std::map<std::vector<int>, std::vector<MPI_Request*>> sequences;
    for (Out& out : out_) {
      sequences[{0, out.edge->destination, out.edge->tag}].push_back(&out.message->request());
      if (out.token)
        sequences[{1, out.edge->destination, out.edge->token_tag}].push_back(&out.token->request());
    }
    for (In& in : in_) {
      sequences[{1, in.edge->source, in.edge->tag}].push_back(&in.message->request());
      if (in.token)
        sequences[{0, in.edge->source, in.edge->token_tag}].push_back(&in.token->request());
    }
    std::vector<const std::vector<int>*> order;
    for (const auto& [sequence, requests] : sequences)
      order.insert(order.end(), requests.size(), &sequence);
    shuffle(order);
    std::map<std::vector<int>, std::size_t> taken;
    std::vector<MPI_Request*> all;
    for (const auto* sequence : order) all.push_back(sequences[*sequence][taken[*sequence]++]);
    match_all(all);
  }

  void wait_one_by_one() {
    std::vector<std::size_t> order(in_.size() + out_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    shuffle(order);
    for (const std::size_t i : order) {
      if (i < in_.size()) {
        if (in_[i].token) in_[i].token->enqueue_wait(*in_[i].lane);
        in_[i].message->enqueue_wait(*in_[i].lane);
      } else {
        Out& out = out_[i - in_.size()];
        out.message->enqueue_wait(*out.lane);
      }
    }
  }

  void wait_for_all() {
    for (Lane& lane : lanes_) {
      EXPECT_PST(PST_Enqueue_wait_outstanding(lane.queue()));
      for (In& in : in_) {
        if (in.lane == &lane) lane.launch(Receiver::check, in.message.get());
      }
      for (Out& out : out_) {
        if (out.lane == &lane) lane.launch(Sender::scribble, out.message.get());
      }
    }
  }

  template <typename List>
  void shuffle(List& list) {
    std::shuffle(list.begin(), list.end(), random_);
  }

  std::vector<Edge> edges_;
  std::mt19937_64 random_;
  std::vector<Out> out_;
  std::vector<In> in_;
  Lane lanes_[2];
};

TEST(Multigraph, G4_G6_RandomGraphsManyEpochsEveryByte) {
  const int graphs = long_run() ? 20 : 2;
  const int epochs = long_run() ? 100 : fewer_rounds(size() > 2 ? 25 : 100, 8);
  for (int i = 0; i < graphs; ++i) {
    SCOPED_TRACE("graph " + std::to_string(i));
    MessageGraph graph(static_cast<std::uint64_t>(i));
    for (int epoch = 0; epoch < epochs; ++epoch) graph.enqueue_epoch();
    graph.finish(static_cast<std::uint64_t>(epochs));
    if (HasFailure()) return;
  }
}

TEST(Multigraph, G4_SeveralGraphsInterleaved) {
  std::vector<std::unique_ptr<MessageGraph>> graphs;
  const int count = size() > 2 ? 2 : 3;
  // Graphs share source, tag and destination, so the order of matching pairs them.
  for (int i = 0; i < count; ++i)
    graphs.push_back(std::make_unique<MessageGraph>(static_cast<std::uint64_t>(100 + i)));
  constexpr int epochs = fewer_rounds(8, 2);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (auto& graph : graphs) graph->enqueue_epoch();
  }
  for (auto& graph : graphs) graph->finish(epochs);
}

}  // namespace
}  // namespace penstock::test
