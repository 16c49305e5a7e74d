// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <penstock/bag.hpp>
#include <utility>

#include "bag_side.hpp"
#include "pattern.hpp"
#include "support/clock.hpp"
#include "support/stream_clock.hpp"

namespace penstock::bench {
namespace {

// The program, written once and compiled for each library, which has put() and take().
template <class Library>
class BagTrips : public BagSide {
 public:
  using BagSide::BagSide;

 protected:
  void make_trips(int messages) {
    for (int i = 0; i < messages; ++i) {
      if (traffic().shape == BagTraffic::Shape::latency)
        trip();
      else if (traffic().leads())
        for (int source = 1; source < traffic().ranks; ++source) library().take();
      else
        library().put();
    }
  }
  static int warm_up_of(int messages) { return std::max(1, messages / 10); }

 private:
  Library& library() { return static_cast<Library&>(*this); }
  void trip() {
    if (traffic().leads()) library().put();
    library().take();
    if (!traffic().leads()) library().put();
  }
};

// All is enqueued while the stream stands at a gate.
template <class Library>
class StreamBagTrips : public BagTrips<Library> {
 public:
  using BagTrips<Library>::BagTrips;

  double run_round(int messages) override {
    tool::Gate gate;
    tool::Stamp begin, end;
    gate.enqueue(stream_);
    if (this->traffic().takes_part()) this->make_trips(this->warm_up_of(messages));
    begin.enqueue(stream_);
    if (this->traffic().takes_part()) this->make_trips(messages);
    end.enqueue(stream_);
    MPI_Barrier(MPI_COMM_WORLD);
    gate.open();
    queue_.synchronize();
    this->forget_trips();
    return end.us() - begin.us();
  }

 protected:
  // What the stream has done with.
  virtual void forget_trips() {}
  StreamView stream() const { return stream_; }
  QueueView queue() const { return queue_; }

 private:
  Stream stream_;
  Queue queue_{stream_};
};

// The message that goes next, and one that is compared where a check is asked for.
class Bag final : public StreamBagTrips<Bag> {
 public:
  explicit Bag(const BagTraffic& traffic) : StreamBagTrips("bag", traffic), out_(traffic.bytes) {
    if (!traffic.takes_part()) return;
    const std::vector<int> sources = traffic.sources();
    std::vector<MPI_Request> ends;
    if (!sources.empty())
      bag_ =
          std::make_unique<GrabBag<std::byte>>(queue(), sources, traffic.slots, traffic.bytes, tag);
    if (traffic.destination() >= 0)
      source_ = std::make_unique<BagSource<std::byte>>(queue(), traffic.destination(),
                                                       traffic.slots, traffic.bytes, tag);
    if (bag_) ends.push_back(bag_->get());
    if (source_) ends.push_back(source_->get());
    match(ends);
  }

  void put() {
    if (works()) stream().launch([this] { work(); });
    if (checking()) stream().launch([this, number = put_++] { fill(out_.data(), number); });
    source_->put(out_.all());
  }
  void take() {
    PST_Grabbed& grabbed = checking() ? grabbed_.emplace_back() : unchecked_;
    bag_->grab(grabbed);
    if (works())
      stream().launch([this, &grabbed] {
        const auto message = bag_->elements(grabbed);
        use(message.data(), message.size());
      });
    if (checking())
      stream().launch([this, &grabbed] {
        const auto message = bag_->elements(grabbed);
        compare(message.data(), message.size(), grabbed.rank, next_of(grabbed.rank));
      });
    bag_->release(grabbed);
  }

 private:
  static constexpr int tag = 20000;
  void forget_trips() override { grabbed_.clear(); }

  Buffer<std::byte> out_;
  std::uint64_t put_ = 0;
  PST_Grabbed unchecked_{};
  std::deque<PST_Grabbed> grabbed_;
  std::unique_ptr<GrabBag<std::byte>> bag_;
  std::unique_ptr<BagSource<std::byte>> source_;
};

class BagPairs final : public StreamBagTrips<BagPairs> {
 public:
  explicit BagPairs(const BagTraffic& traffic)
      : StreamBagTrips("pairs", traffic), out_(traffic.bytes), in_(traffic.bytes) {
    if (!traffic.takes_part()) return;
    requests_.add(send_init(out_.all(), 1 - traffic.rank, tag, MPI_COMM_WORLD));
    requests_.add(recv_init(in_.all(), 1 - traffic.rank, tag, MPI_COMM_WORLD));
    match(requests_);
  }

  void put() {
    if (checking()) stream().launch([this, number = put_++] { fill(out_.data(), number); });
    queue().run(requests_[0]);
  }
  void take() {
    queue().run(requests_[1]);
    if (!checking()) return;
    stream().launch([this] {
      const int source = 1 - traffic().rank;
      compare(in_.data(), in_.size(), source, next_of(source));
    });
  }

 private:
  static constexpr int tag = 20001;
  Buffer<std::byte> out_, in_;
  std::uint64_t put_ = 0;
  Requests requests_;
};

class AnySource final : public BagTrips<AnySource> {
 public:
  explicit AnySource(const BagTraffic& traffic)
      : BagTrips("mpi-any-source", traffic),
        open_(traffic.takes_part() ? traffic.sources().size() * slots() : 0, MPI_REQUEST_NULL),
        sends_(slots(), MPI_REQUEST_NULL),
        in_(std::max<std::size_t>(1, open_.size()) * traffic.bytes),
        out_(slots() * traffic.bytes) {
    for (std::size_t i = 0; i < open_.size(); ++i) receive(i);
  }
  ~AnySource() override {
    for (MPI_Request& each : open_) {
      MPI_Cancel(&each);
      MPI_Wait(&each, MPI_STATUS_IGNORE);
    }
  }

  double run_round(int messages) override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (!traffic().takes_part()) return 0;
    make_trips(warm_up_of(messages));
    const double begin = tool::now_us();
    make_trips(messages);
    MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
    return tool::now_us() - begin;
  }

  void put() {
    const std::size_t slot = put_ % sends_.size();
    MPI_Wait(&sends_[slot], MPI_STATUS_IGNORE);
    std::byte* const message = out_.data() + slot * traffic().bytes;
    if (works()) work();
    if (checking()) fill(message, put_ % numbers);
    MPI_Isend(message, static_cast<int>(traffic().bytes), MPI_BYTE, traffic().destination(),
              first_tag + static_cast<int>(put_++ % numbers), MPI_COMM_WORLD, &sends_[slot]);
  }
  void take() {
    int index = 0;
    MPI_Status status;
    MPI_Waitany(static_cast<int>(open_.size()), open_.data(), &index, &status);
    const auto slot = static_cast<std::size_t>(index);
    if (works()) use(in_.data() + slot * traffic().bytes, traffic().bytes);
    if (checking())
      compare(in_.data() + slot * traffic().bytes, traffic().bytes, status.MPI_SOURCE,
              static_cast<std::uint64_t>(status.MPI_TAG - first_tag));
    receive(slot);
  }

 private:
  static constexpr int first_tag = 21000;
  static constexpr std::uint64_t numbers = 8192;  // of messages whose tag tells which they are

  std::size_t slots() const { return static_cast<std::size_t>(traffic().slots); }
  void receive(std::size_t slot) {
    MPI_Irecv(in_.data() + slot * traffic().bytes, static_cast<int>(traffic().bytes), MPI_BYTE,
              MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &open_[slot]);
  }

  std::vector<MPI_Request> open_, sends_;
  Buffer<std::byte> in_, out_;
  std::uint64_t put_ = 0;
};

}  // namespace

std::vector<int> BagTraffic::sources() const {
  if (shape == Shape::latency) return {1 - rank};
  std::vector<int> others(rank == 0 ? static_cast<std::size_t>(ranks - 1) : 0);
  std::iota(others.begin(), others.end(), 1);
  return others;
}

int BagTraffic::destination() const {
  if (shape == Shape::latency) return 1 - rank;
  return rank == 0 ? -1 : 0;
}

BagSide::BagSide(std::string name, const BagTraffic& traffic)
    : name_(std::move(name)), traffic_(traffic), next_(static_cast<std::size_t>(traffic.ranks)) {}

void BagSide::fill(std::byte* message, std::uint64_t number) const {
  fill_pattern({message, traffic_.bytes}, static_cast<std::uint64_t>(traffic_.rank), number);
}

void BagSide::compare(const std::byte* message, std::size_t bytes, int source,
                      std::uint64_t number) {
  if (bytes != traffic_.bytes) wrong_ += traffic_.bytes;
  wrong_ += count_wrong({message, bytes}, static_cast<std::uint64_t>(source), number);
}

void BagSide::work() {
  // Evenly from nothing to twice the average, and in another order on each rank.
  const std::uint64_t mixed =
      (results_++ + 1000 * static_cast<std::uint64_t>(traffic_.rank)) * 0x9e3779b97f4a7c15u;
  const double share = static_cast<double>(mixed >> 40) / static_cast<double>(1u << 24);
  const double end = tool::now_us() + 2 * share * traffic_.work_us;
  while (tool::now_us() < end) continue;
}

void BagSide::use(const std::byte* message, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes; ++at) sum += static_cast<std::uint64_t>(message[at]);
  used_ = used_ + sum;
}

std::unique_ptr<BagSide> make_bag_side(const std::string& library, const BagTraffic& traffic,
                                       std::string& why_not) {
  if (library == "mpi-any-source") return std::make_unique<AnySource>(traffic);
  if (library == "pairs") {
    if (traffic.shape == BagTraffic::Shape::latency) return std::make_unique<BagPairs>(traffic);
    return nullptr;  // a pair has one source
  }
  int failed = 0;
  std::unique_ptr<BagSide> side;
  try {
    side = std::make_unique<Bag>(traffic);
  } catch (const Error& error) {
    if (error.kind() != PST_ERROR_TRANSPORT) throw;
    why_not = error.what();
    failed = 1;
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (failed != 0) return nullptr;
  return side;
}

}  // namespace penstock::bench
