// SPDX-License-Identifier: Apache-2.0
#include "support/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "support/environment.hpp"

namespace penstock::test {

struct Side::Channel {
  int number = 0;
  std::unique_ptr<Sender> sender;
  std::unique_ptr<Receiver> receiver;
  bool started = false;
  std::uint64_t epochs = 0;
  MPI_Request& request() { return sender ? sender->request() : receiver->request(); }
};

std::string times(const std::string& steps, unsigned count) {
  std::string all;
  for (unsigned i = 0; i < count; ++i) all += steps + " ";
  return all;
}

std::string text(const Program& program, const Shape& shape) {
  std::ostringstream out;
  out << program.name << " " << name(program.kind) << ", " << shape.bytes << " B, memory "
      << name(shape.memory_a) << "/" << name(shape.memory_b) << ", shift " << shape.shift
      << ", extra " << shape.extra << ", lanes " << shape.lanes << ", slow " << shape.slow
      << ", repeats " << shape.repeats;
  return out.str();
}

std::vector<Side::Step> Side::parse(const std::string& steps) {
  std::vector<Step> parsed;
  std::istringstream words(steps);
  for (std::string word; words >> word;) {
    const bool all = word == "w*" || word == "w-";
    const char verb = all ? word[1] : word[0];
    parsed.push_back({verb, all || word.size() == 1 ? 0 : std::stoi(word.substr(1))});
  }
  return parsed;
}

Side::Side(const Program& program, const Shape& shape, bool is_a, int self, int peer, int tag_base)
    : shape_(shape),
      slow_(shape.slow == (is_a ? 'a' : 'b')),
      first_(parse(is_a ? program.first_a : program.first_b)),
      steps_(parse(is_a ? program.a : program.b)),
      last_(parse(is_a ? program.last_a : program.last_b)) {
  for (int i = 0; i < shape.lanes; ++i) lanes_.push_back(std::make_unique<Lane>());
  for (const std::vector<Step>* steps : {&first_, &steps_, &last_}) {
    for (const Step& step : *steps) {
      if (step.verb == 's' || step.verb == 'r')
        add_channel(program, step, is_a, self, peer, tag_base + step.channel);
    }
  }
}

void Side::add_channel(const Program& program, const Step& step, bool is_a, int self, int peer,
                       int tag) {
  const auto number = static_cast<std::size_t>(step.channel);
  if (number > channels_.size()) channels_.resize(number);
  auto& channel = channels_[number - 1];
  if (channel != nullptr) return;
  channel = std::make_unique<Channel>();
  channel->number = step.channel;
  const Memory memory = is_a ? shape_.memory_a : shape_.memory_b;
  const auto& plain_channels = program.plain_channels;
  const bool plain =
      std::find(plain_channels.begin(), plain_channels.end(), step.channel) != plain_channels.end();
  const std::size_t bytes = plain ? shape_.plain_bytes : shape_.bytes;
  if (step.verb == 's') {
    channel->sender =
        std::make_unique<Sender>(bytes, memory, sequence_key(self, peer, tag), shape_.shift);
    channel->sender->init(plain ? Kind::standard : program.kind, peer, tag);
  } else {
    channel->receiver = std::make_unique<Receiver>(bytes, memory, sequence_key(peer, self, tag),
                                                   shape_.shift, shape_.extra);
    channel->receiver->init(peer, tag);
  }
}

Side::~Side() = default;

std::vector<MPI_Request*> Side::requests() {
  std::vector<MPI_Request*> all;
  for (auto& channel : channels_) all.push_back(&channel->request());
  return all;
}

Lane& Side::lane_of(const Channel& channel) {
  return *lanes_[static_cast<std::size_t>(channel.number - 1) % lanes_.size()];
}

void Side::start(Channel& channel) {
  Lane& lane = lane_of(channel);
  if (slow_) enqueue_delay(lane, 60);
  if (channel.sender) {
    channel.sender->enqueue_start(lane);
  } else {
    channel.receiver->enqueue_start(lane);
  }
  channel.started = true;
  ++channel.epochs;
}

void Side::wait(Channel& channel) {
  if (channel.sender) {
    channel.sender->enqueue_wait(lane_of(channel));
  } else {
    channel.receiver->enqueue_wait(lane_of(channel));
  }
  channel.started = false;
}

void Side::wait_all(bool reversed) {
  for (auto& lane : lanes_) {
    std::vector<Channel*> waiting;
    std::vector<MPI_Request> requests;
    for (auto& channel : channels_) {
      if (channel->started && &lane_of(*channel) == lane.get()) waiting.push_back(channel.get());
    }
    if (reversed) std::reverse(waiting.begin(), waiting.end());
    for (Channel* channel : waiting) requests.push_back(channel->request());
    EXPECT_PST(
        PST_Enqueue_waitall(lane->queue(), static_cast<int>(requests.size()), requests.data()));
    for (Channel* channel : waiting) {
      if (channel->sender) {
        lane->launch(Sender::scribble, channel->sender.get());
      } else {
        lane->launch(Receiver::check, channel->receiver.get());
      }
      channel->started = false;
    }
  }
}

void Side::run(const Step& step) {
  switch (step.verb) {
    case 's':
    case 'r':
      return start(*channels_[static_cast<std::size_t>(step.channel) - 1]);
    case 'w':
      return wait(*channels_[static_cast<std::size_t>(step.channel) - 1]);
    case '*':
      return wait_all(false);
    case '-':
      return wait_all(true);
    case 'd':
      return enqueue_delay(*lanes_[0], 60);
    default:
      FAIL() << "no such step: " << step.verb;
  }
}

void Side::run(const std::vector<Step>& steps, std::mt19937_64& random) {
  for (const Step& step : steps) {
    if (shape_.slow == '*' && random() % 3 == 0)
      enqueue_delay(*lanes_[random() % lanes_.size()], random() % 120);
    run(step);
  }
}

void Side::enqueue() {
  ++enqueued_;
  auto random = generator(static_cast<std::uint64_t>(rank()) + 17);
  run(first_, random);
  for (int repeat = 0; repeat < shape_.repeats; ++repeat) run(steps_, random);
  run(last_, random);
}

void Side::finish(std::uint64_t runs) {
  for (auto& lane : lanes_) lane->finish();
  for (auto& channel : channels_) {
    if (channel->receiver)
      channel->receiver->expect_good(runs == 0 ? channel->epochs
                                               : channel->epochs / enqueued_ * runs);
  }
}

void match_all(const std::vector<MPI_Request*>& requests) {
  std::vector<MPI_Request> handles;
  for (MPI_Request* request : requests) handles.push_back(*request);
  EXPECT_PST(PST_Matchall(static_cast<int>(handles.size()), handles.data(), MPI_STATUSES_IGNORE));
}

void run_program(const Program& program, const Shape& shape, int peer) {
  SCOPED_TRACE(text(program, shape));
  const int self = rank();
  std::vector<std::unique_ptr<Side>> sides;
  if (peer >= self) sides.push_back(std::make_unique<Side>(program, shape, true, self, peer, 0));
  if (peer <= self) sides.push_back(std::make_unique<Side>(program, shape, false, self, peer, 0));
  std::vector<MPI_Request*> requests;
  for (auto& side : sides) {
    for (MPI_Request* request : side->requests()) requests.push_back(request);
  }
  match_all(requests);
  for (auto& side : sides) side->enqueue();
  for (auto& side : sides) side->finish();
}

}  // namespace penstock::test
