// SPDX-License-Identifier: Apache-2.0
// A match that has been begun by PST_Imatch ends although its process is inside MPI: programs that
// are correct with MPI's own nonblocking and synchronous calls in the place of the match must not
// stand still. Each case is run with either half begun by PST_Imatch, and the other given to
// PST_Match when its peer is inside the call.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

constexpr const char* in_pairs = "an odd number of ranks: the cases go by pairs";
constexpr int message_tag = 900;
constexpr std::size_t much = 1 << 20;  // more than an MPI sends without its receive

struct Half {
  Half(bool sends, std::size_t bytes, Kind kind, int tag, std::size_t extra = 0,
       bool any_source = false, bool any_tag = false) {
    const int self = rank(), peer = partner();
    if (sends) {
      sender.emplace(bytes, Memory::ordinary, sequence_key(self, peer, tag));
      sender->init(kind, peer, tag);
    } else {
      receiver.emplace(bytes, Memory::ordinary, sequence_key(peer, self, tag), 0, extra);
      receiver->init(any_source ? MPI_ANY_SOURCE : peer, any_tag ? MPI_ANY_TAG : tag);
    }
  }
  MPI_Request& request() { return sender ? sender->request() : receiver->request(); }
  void start(Lane& lane) { sender ? sender->enqueue_start(lane) : receiver->enqueue_start(lane); }
  void wait(Lane& lane) { sender ? sender->enqueue_wait(lane) : receiver->enqueue_wait(lane); }

  std::optional<Sender> sender;
  std::optional<Receiver> receiver;
};

void run(const std::vector<std::unique_ptr<Half>>& halves, Kind kind) {
  constexpr int epochs = 3;
  Lane lane;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (const auto& half : halves)
      if (half->receiver) half->start(lane);
    if (kind == Kind::ready) {  // its receives have been started
      lane.synchronize();
      meet();
    }
    for (const auto& half : halves)
      if (half->sender) half->start(lane);
    for (const auto& half : halves) half->wait(lane);
    lane.finish();
    meet();
  }
  for (const auto& half : halves)
    if (half->receiver) half->receiver->expect_good(epochs);
}

std::vector<MPI_Request> requests_of(const std::vector<std::unique_ptr<Half>>& halves) {
  std::vector<MPI_Request> requests;
  for (const auto& half : halves) requests.push_back(half->request());
  return requests;
}

// `early` hands its halves to match, then calls MPI and waits; `late` matches, then makes the other
// end of that call.
void match(bool early, const std::vector<std::unique_ptr<Half>>& halves,
           const std::function<void()>& early_calls, const std::function<void()>& late_calls) {
  std::vector<MPI_Request> requests = requests_of(halves);
  const int count = static_cast<int>(requests.size());
  if (early) {
    MPI_Request matching = MPI_REQUEST_NULL;
    ASSERT_PST(PST_Imatchall(count, requests.data(), &matching));
    early_calls();
    ASSERT_PST(MPI_Wait(&matching, MPI_STATUS_IGNORE));
  } else {
    ASSERT_PST(PST_Matchall(count, requests.data(), MPI_STATUSES_IGNORE));
    late_calls();
  }
}

std::vector<std::unique_ptr<Half>> one(std::unique_ptr<Half> half) {
  std::vector<std::unique_ptr<Half>> halves;
  halves.push_back(std::move(half));
  return halves;
}

// ---- Messages

struct Call {
  const char* name;
  std::function<void()> early, late;
};

std::vector<Call> calls() {
  const int peer = partner();
  static std::vector<std::byte> out(much, std::byte{7}), in(much);
  const auto expect_in = [] { EXPECT_EQ(std::memcmp(in.data(), out.data(), much), 0); };
  const auto send = [=] {
    MPI_Send(out.data(), much, MPI_BYTE, peer, message_tag, MPI_COMM_WORLD);
  };
  const auto receive = [=] {
    std::fill(in.begin(), in.end(), std::byte{0});
    MPI_Status status;
    EXPECT_EQ(MPI_Recv(in.data(), much, MPI_BYTE, peer, message_tag, MPI_COMM_WORLD, &status),
              MPI_SUCCESS);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT_EQ(count, static_cast<int>(much));
    EXPECT_EQ(status.MPI_SOURCE, peer);
    EXPECT_EQ(status.MPI_TAG, message_tag);
    expect_in();
  };
  const auto probe_receive = [=] {
    MPI_Status status;
    MPI_Probe(peer, message_tag, MPI_COMM_WORLD, &status);
    EXPECT_EQ(status.MPI_SOURCE, peer);
    receive();
  };
  const auto matched_receive = [=] {
    std::fill(in.begin(), in.end(), std::byte{0});
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Mprobe(MPI_ANY_SOURCE, message_tag, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(in.data(), much, MPI_BYTE, &message, &status);
    EXPECT_EQ(status.MPI_SOURCE, peer);
    expect_in();
  };
  const auto polled_receive = [=] {
    MPI_Status status;
    for (int found = 0; found == 0;) MPI_Iprobe(peer, message_tag, MPI_COMM_WORLD, &found, &status);
    receive();
  };
  const auto matched_polled_receive = [=] {
    std::fill(in.begin(), in.end(), std::byte{0});
    MPI_Message message = MPI_MESSAGE_NULL;
    for (int found = 0; found == 0;)
      MPI_Improbe(MPI_ANY_SOURCE, message_tag, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in.data(), much, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    expect_in();
  };
  const auto exchange = [=] {
    std::fill(in.begin(), in.end(), std::byte{0});
    MPI_Status status;
    MPI_Sendrecv(out.data(), much, MPI_BYTE, peer, message_tag, in.data(), much, MPI_BYTE, peer,
                 message_tag, MPI_COMM_WORLD, &status);
    EXPECT_EQ(status.MPI_SOURCE, peer);
    expect_in();
  };
  const auto replace = [=] {
    std::vector<int> values(much / sizeof(int), rank());
    MPI_Datatype every_other;
    const int half = static_cast<int>(values.size()) / 2;
    MPI_Type_vector(half, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Sendrecv_replace(values.data(), 1, every_other, peer, message_tag, peer, message_tag,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&every_other);
    std::size_t wrong = 0;
    const int self = rank();
    for (std::size_t i = 0; i < values.size(); ++i)
      wrong += values[i] != (i % 2 == 0 ? peer : self);
    EXPECT_EQ(wrong, 0U);
  };
  const auto synchronous = [=] {
    MPI_Ssend(out.data(), 8, MPI_BYTE, peer, message_tag, MPI_COMM_WORLD);
  };
  const auto short_receive = [=] {
    MPI_Recv(in.data(), 8, MPI_BYTE, peer, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  return {{"MPI_Send", send, receive},
          {"MPI_Ssend", synchronous, short_receive},
          {"MPI_Recv", receive, send},
          {"MPI_Probe", probe_receive, send},
          {"MPI_Mprobe", matched_receive, send},
          {"MPI_Iprobe", polled_receive, send},
          {"MPI_Improbe", matched_polled_receive, send},
          {"MPI_Sendrecv", exchange, exchange},
          {"MPI_Sendrecv_replace", replace, replace}};
}

struct Wildcards {
  bool source, tag;
};

TEST(MatchProgress, InsideBlockingMessages) {
  if (size() % 2 != 0) GTEST_SKIP() << in_pairs;
  for (const bool early_sends : {false, true})
    for (const Wildcards any : {Wildcards{false, false}, Wildcards{true, false},
                                Wildcards{false, true}, Wildcards{true, true}}) {
      const bool early = rank() % 2 == 0;
      for (const Call& call : calls()) {
        SCOPED_TRACE(std::string(call.name) + (early_sends ? ", send first" : ", receive first") +
                     (any.source ? ", any source" : "") + (any.tag ? ", any tag" : ""));
        const auto halves = one(std::make_unique<Half>(early == early_sends, 100, Kind::standard,
                                                       5 + rank() / 2, 0, any.source, any.tag));
        match(early, halves, call.early, call.late);
        run(halves, Kind::standard);
      }
    }
}

// What a call does in the place of another is what that would have done.
void expect_null(const char* call, const MPI_Status& status) {
  int count = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL) << call;
  EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG) << call;
  EXPECT_EQ(count, 0) << call;
}

void exchange_with_nobody() {
  int in = 0, out = 0;
  MPI_Status status{};
  MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  expect_null("MPI_Recv", status);
  MPI_Sendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0,
               MPI_COMM_WORLD, &status);
  expect_null("MPI_Sendrecv", status);
  MPI_Sendrecv_replace(&in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                       &status);
  expect_null("MPI_Sendrecv_replace", status);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
  MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
  expect_null("MPI_Mrecv", status);
}

// The message of the peer is there, and stays there.
void exchange_wrongly(int expected) {
  const int nowhere = size();
  int value = 7, out = 0;
  MPI_Probe(partner(), message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT_NE(MPI_Sendrecv_replace(&value, 1, MPI_INT, nowhere, 0, partner(), message_tag,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            MPI_SUCCESS);
  EXPECT_NE(MPI_Sendrecv(&out, 1, MPI_INT, nowhere, 0, &value, 1, MPI_INT, partner(), message_tag,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            MPI_SUCCESS);
  EXPECT_EQ(value, 7);
  MPI_Recv(&value, 1, MPI_INT, partner(), message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT_EQ(value, expected);
}

TEST(MatchProgress, ExchangesUnderAMatchDoWhatMpiDoes) {
  if (size() % 2 != 0) GTEST_SKIP() << in_pairs;
  constexpr int sent = 42;
  const bool early = rank() % 2 == 0;
  const auto halves = one(std::make_unique<Half>(early, 100, Kind::standard, 9));
  if (early) {
    MPI_Request matching = MPI_REQUEST_NULL;
    ASSERT_PST(PST_Imatch(&halves[0]->request(), &matching));
    exchange_with_nobody();
    exchange_wrongly(sent);
    MPI_Send(nullptr, 0, MPI_INT, partner(), message_tag, MPI_COMM_WORLD);
    ASSERT_PST(MPI_Wait(&matching, MPI_STATUS_IGNORE));
  } else {
    MPI_Send(&sent, 1, MPI_INT, partner(), message_tag, MPI_COMM_WORLD);
    MPI_Recv(nullptr, 0, MPI_INT, partner(), message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ASSERT_PST(PST_Match(&halves[0]->request(), MPI_STATUS_IGNORE));
  }
  run(halves, Kind::standard);
}

// ---- Collectives. Receives whose source or tag is open need their own process:
// MPI_THREAD_MULTIPLE alone lets that one act here.

void across_barrier(bool early_sends, std::size_t bytes, Kind kind, std::size_t extra = 0) {
  SCOPED_TRACE(std::to_string(bytes) + " bytes, " + name(kind) +
               (early_sends ? ", send first" : ", receive first"));
  const bool early = rank() % 2 == 0;
  const auto halves = one(std::make_unique<Half>(early == early_sends, bytes, kind, 6, extra));
  match(
      early, halves, [] { MPI_Barrier(MPI_COMM_WORLD); }, [] { MPI_Barrier(MPI_COMM_WORLD); });
  run(halves, kind);
}

bool leaves_halves() {  // ofi's receives leave nothing
  return only_transport() != "ofi";
}

TEST(MatchProgress, InsideABarrier) {
  if (size() % 2 != 0) GTEST_SKIP() << in_pairs;
  for (const bool early_sends : {false, true}) {
    if (!early_sends && !leaves_halves()) continue;
    for (const Kind kind : {Kind::standard, Kind::synchronous, Kind::ready, Kind::buffered})
      for (const std::size_t bytes : protocol_sizes()) across_barrier(early_sends, bytes, kind);
    across_barrier(early_sends, 10000, Kind::standard, 5000);
  }
}

TEST(MatchProgress, ManyInsideABarrier) {
  if (size() % 2 != 0) GTEST_SKIP() << in_pairs;
  constexpr int count = fewer_rounds(2000, 4);
  auto random = generator(static_cast<std::uint64_t>(rank() / 2));
  for (const bool early_sends : {false, true}) {
    if (!early_sends && !leaves_halves()) continue;
    const bool early = rank() % 2 == 0;
    std::vector<std::unique_ptr<Half>> halves;
    for (int i = 0; i < count; ++i) {
      const int tag = static_cast<int>(random() % 50);  // of one tag, they pair in their order
      const std::size_t bytes = random() % 100;
      halves.push_back(std::make_unique<Half>(early == early_sends, bytes, Kind::standard, tag));
    }
    match(
        early, halves, [] { MPI_Barrier(MPI_COMM_WORLD); }, [] { MPI_Barrier(MPI_COMM_WORLD); });
    run(halves, Kind::standard);
  }
}

// Both ranks hand a send to match that the other one receives, call the barrier, and receive only
// then.
TEST(MatchProgress, BothWaysAcrossABarrier) {
  if (size() % 2 != 0) GTEST_SKIP() << in_pairs;
  for (const bool sends_first : {true, false}) {
    if (!sends_first && !leaves_halves()) continue;
    const auto first = one(std::make_unique<Half>(sends_first, 3000, Kind::standard, 8));
    const auto second = one(std::make_unique<Half>(!sends_first, 3000, Kind::standard, 8));
    MPI_Request matching = MPI_REQUEST_NULL;
    ASSERT_PST(PST_Imatch(&first[0]->request(), &matching));
    MPI_Barrier(MPI_COMM_WORLD);
    ASSERT_PST(PST_Match(&second[0]->request(), MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    ASSERT_PST(MPI_Wait(&matching, MPI_STATUS_IGNORE));
    Lane lane;
    Half& out = *(sends_first ? first : second)[0];
    Half& in = *(sends_first ? second : first)[0];
    for (int epoch = 0; epoch < 3; ++epoch) {
      in.start(lane);
      out.start(lane);
      in.wait(lane);
      out.wait(lane);
    }
    lane.finish();
    in.receiver->expect_good(3);
  }
}

// A message that is too long is an error on both ends, without the receiver's acting.
TEST(MatchProgress, TruncationAcrossABarrier) {
  if (size() % 2 != 0) GTEST_SKIP() << in_pairs;
  if (!leaves_halves()) GTEST_SKIP() << "receives over ofi leave nothing with their senders";
  std::vector<std::byte> buffer(100);
  MPI_Request request;
  if (rank() % 2 == 0) {
    MPI_Request matching = MPI_REQUEST_NULL;
    MPI_Recv_init(buffer.data(), 99, MPI_BYTE, partner(), 3, MPI_COMM_WORLD, &request);
    ASSERT_PST(PST_Imatch(&request, &matching));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_PST_KIND(MPI_Wait(&matching, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
  } else {
    MPI_Send_init(buffer.data(), 100, MPI_BYTE, partner(), 3, MPI_COMM_WORLD, &request);
    EXPECT_PST_KIND(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request_free(&request);
}

// ---- Errors

// The first matches have failed before the peer hands the last one over, which is waited for all
// the same.
TEST(MatchProgress, WaitallWaitsForAllWhereSomeMatchesFail) {
  if (size() % 2 != 0) GTEST_SKIP() << in_pairs;
  constexpr int count = 4, too_long = 3;
  std::vector<std::byte> buffer(100);
  std::vector<MPI_Request> requests(count);
  for (int i = 0; i < count; ++i)
    if (rank() % 2 == 0)
      MPI_Recv_init(buffer.data(), i < too_long ? 99 : 100, MPI_BYTE, partner(), i, MPI_COMM_WORLD,
                    &requests[i]);
    else
      MPI_Send_init(buffer.data(), 100, MPI_BYTE, partner(), i, MPI_COMM_WORLD, &requests[i]);
  if (rank() % 2 == 0) {
    std::vector<MPI_Request> matching(count);
    std::vector<MPI_Status> statuses(count);
    for (int i = 0; i < count; ++i) ASSERT_PST(PST_Imatch(&requests[i], &matching[i]));
    int error_class = MPI_SUCCESS;
    MPI_Error_class(MPI_Waitall(count, matching.data(), statuses.data()), &error_class);
    EXPECT_EQ(error_class, MPI_ERR_IN_STATUS);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(matching[i], MPI_REQUEST_NULL) << i;
      EXPECT_EQ(statuses[i].MPI_ERROR != MPI_SUCCESS, i < too_long) << i;
    }
  } else {
    for (int i = 0; i < count; ++i)
      EXPECT_PST_KIND(PST_Match(&requests[i], MPI_STATUS_IGNORE),
                      i < too_long ? PST_ERROR_TRUNCATE : PST_ERROR_NONE);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

}  // namespace
}  // namespace penstock::test
